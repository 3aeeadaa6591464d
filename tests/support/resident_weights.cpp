#include "tests/support/resident_weights.h"

#include <cmath>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/value_generator.h"

namespace dlo::test {

ResidentWeights::ResidentWeights(platform::Device& device, const contracts::DitSpec& spec,
                                 const FillTensor& fill) {
  for (const auto& block : spec.blocks) {
    place(device, block, fill);
  }
  place(device, spec.non_block, fill);
}

ResidentWeights::~ResidentWeights() {
  for (const auto& placed : placed_) {
    placed.block->binding->forget_places();
  }
}

void ResidentWeights::place(platform::Device& device, const contracts::BlockSpec& block,
                            const FillTensor& fill) {
  Placed placed;
  placed.block = &block;
  placed.layout = std::make_unique<contracts::BlockLayout>(block);
  placed.buffer =
      device.allocate_device(placed.layout->bytes(), platform::MemoryPurpose::kResident).value();
  const DeviceSpan span = placed.buffer->span();
  for (const auto& entry : placed.layout->entries()) {
    fill(block.tensors[entry.tensor_index], {span.data + entry.offset_bytes, entry.span_bytes});
  }
  block.binding->add_place(0, span, *placed.layout);
  block.binding->bind(0);
  placed_.push_back(std::move(placed));
}

ByteSpan ResidentWeights::bytes(const std::string& name) const {
  for (const auto& placed : placed_) {
    for (const auto& entry : placed.layout->entries()) {
      if (placed.block->tensors[entry.tensor_index].name == name) {
        return {placed.buffer->span().data + entry.offset_bytes, entry.span_bytes};
      }
    }
  }
  throw LogicError("the model has no tensor '" + name + "'");
}

FillTensor seeded_values(std::uint64_t seed) {
  return [seed](const contracts::TensorSpec& spec, ByteSpan out) {
    const bool is_gain =
        spec.name.find("norm") != std::string::npos && spec.name.ends_with(".weight");
    float scale = is_gain ? 0.25F : 0.1F;
    if (spec.shape.size() > 1 && !spec.name.ends_with("table")) {
      const auto fan_in = *element_count(spec.shape) / static_cast<std::uint64_t>(spec.shape[0]);
      scale = 1.0F / std::sqrt(static_cast<float>(fan_in));
    }
    ValueGenerator(spec.name, seed).fill_normal(out, spec.dtype, 0, is_gain ? 1.0F : 0.0F, scale);
  };
}

}  // namespace dlo::test
