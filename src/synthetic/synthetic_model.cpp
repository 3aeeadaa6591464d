#include "synthetic/synthetic_model.h"

#include <fmt/format.h>

#include <cstring>

#include "base/error.h"
#include "synthetic/synthetic_weights.h"

namespace dlo::synthetic {

using platform::OpLabel;
using platform::Site;

namespace {

// FNV-1a over 64-bit words, the tail padded with zeros: order-sensitive and cheap.
std::uint64_t fold(std::uint64_t digest, ConstByteSpan bytes) {
  constexpr std::uint64_t kPrime = 0x100000001B3ULL;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof(word), bytes.size() - at));
    digest = (digest ^ word) * kPrime;
  }
  return digest;
}

// Byte offset in the span of element `index` (row-major).
std::uint64_t element_offset(const contracts::TensorSpec& spec, std::uint64_t index) {
  std::uint64_t offset = 0;
  for (auto d = spec.shape.size(); d-- > 0;) {
    const auto extent = static_cast<std::uint64_t>(spec.shape[d]);
    offset += index % extent * static_cast<std::uint64_t>(spec.strides[d]);
    index /= extent;
  }
  return offset * (dtype_bits(spec.dtype) / 8);
}

struct Comparison {
  bool equal = true;
  std::uint64_t digest = 0;
};

// Reads the tensor at `actual` once, element by element where it is strided.
Comparison compare(const contracts::TensorSpec& spec, ConstByteSpan expected,
                   const std::byte* actual, std::uint64_t digest) {
  const std::uint64_t step = spec.strides.empty() ? expected.size() : dtype_bits(spec.dtype) / 8;
  Comparison result{true, digest};
  for (std::uint64_t at = 0; at < expected.size(); at += step) {
    const auto* source = actual + (spec.strides.empty() ? at : element_offset(spec, at / step));
    result.equal = std::memcmp(source, expected.data() + at, step) == 0 && result.equal;
    result.digest = fold(result.digest, ConstByteSpan(source, step));
  }
  return result;
}

contracts::BlockSpec make_spec(const std::string& name, const std::vector<SyntheticTensor>& tensors,
                               SyntheticBinding* binding) {
  contracts::BlockSpec spec{name, {}, binding};
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    spec.tensors.push_back(
        contracts::TensorSpec{fmt::format("{}.{}", name, t), contracts::TensorKind::kParameter,
                              tensors[t].dtype, tensors[t].shape, tensors[t].strides});
  }
  return spec;
}

}  // namespace

SyntheticModel::SyntheticModel(const SyntheticShape& shape) : seed_(shape.seed) {
  for (std::size_t r = 0; r < shape.rings.size(); ++r) {
    auto& ring = rings_.emplace_back();
    auto& dit = table_.dits.emplace_back();
    dit.name = fmt::format("ring{}", r);
    dit.parent = shape.rings[r].child ? "ring0" : "";
    for (std::size_t b = 0; b < shape.rings[r].blocks.size(); ++b) {
      const auto name = fmt::format("{}.blocks.{}", dit.name, b);
      auto& block = ring.blocks.emplace_back();
      block.binding = std::make_unique<SyntheticBinding>(name);
      dit.blocks.push_back(make_spec(name, shape.rings[r].blocks[b], block.binding.get()));
      ring.whole_order.push_back(static_cast<std::uint32_t>(b));
    }
    const auto name = dit.name + " (non-block)";
    ring.non_block.binding = std::make_unique<SyntheticBinding>(name);
    dit.non_block = make_spec(name, shape.rings[r].non_block, ring.non_block.binding.get());
  }
  contracts::check_table(table_);
  const auto attach = [&](Block& block, const contracts::BlockSpec& spec) {
    block.spec = &spec;
    for (const auto& tensor : spec.tensors) {
      block.expected.push_back(tensor_content(seed_, tensor));
    }
  };
  for (std::size_t r = 0; r < rings_.size(); ++r) {
    for (std::size_t b = 0; b < rings_[r].blocks.size(); ++b) {
      attach(rings_[r].blocks[b], table_.dits[r].blocks[b]);
    }
    attach(rings_[r].non_block, table_.dits[r].non_block);
  }
}

contracts::OffloadPlan SyntheticModel::offload_plan() const {
  contracts::OffloadPlan plan;
  for (const auto& dit : table_.dits) {
    plan.resident_dit_paths.insert(dit.name);
    if (!dit.parent.empty()) {
      plan.offload_submodules.emplace(dit.name, "blocks");
    }
  }
  return plan;
}

const SyntheticBinding& SyntheticModel::binding(std::size_t ring, std::size_t block) const {
  return *rings_.at(ring).blocks.at(block).binding;
}

bool SyntheticModel::untouched() const {
  const auto clean = [](const Block& block) {
    return block.binding->at_placeholder() && block.binding->place_count() == 0;
  };
  for (const auto& ring : rings_) {
    for (const auto& block : ring.blocks) {
      if (!clean(block)) {
        return false;
      }
    }
    if (!clean(ring.non_block)) {
      return false;
    }
  }
  return true;
}

void SyntheticModel::run(platform::Device& device, std::size_t ring,
                         contracts::BlockObserver* observer) {
  run_order(device, ring, observer, rings_.at(ring).whole_order);
}

void SyntheticModel::run_order(platform::Device& device, std::size_t ring_index,
                               contracts::BlockObserver* observer,
                               std::span<const std::uint32_t> order) {
  auto& ring = rings_.at(ring_index);
  OpLabel label{Site::kModel, static_cast<std::int32_t>(ring_index), -1, -1, -1};
  launch(device, ring.non_block, label);
  label.site = Site::kCompute;
  for (const auto block : order) {
    if (observer != nullptr) {
      observer->before_block(block);
    }
    label.block = static_cast<std::int32_t>(block);
    launch(device, ring.blocks[block], label);
    if (observer != nullptr) {
      observer->after_block(block);
    }
  }
}

void SyntheticModel::launch(platform::Device& device, const Block& block, const OpLabel& label) {
  const BoundPlace place = block.binding->current();
  device.launch(
      platform::StreamKind::kCompute, [this, &block, place] { compute(block, place); }, label);
}

void SyntheticModel::compute(const Block& block, const BoundPlace& place) {
  ++findings_.computed_blocks;
  for (const auto& entry : place.layout->entries()) {
    const auto& spec = block.spec->tensors[entry.tensor_index];
    const auto& expected = block.expected[entry.tensor_index];
    const auto seen = compare(spec, expected, place.span.data + entry.offset_bytes, digest_);
    digest_ = seen.digest;
    if (!seen.equal) {
      ++findings_.wrong_tensors;
      if (findings_.first.empty()) {
        findings_.first = fmt::format("{} at compute {}", spec.name, findings_.computed_blocks);
      }
    }
  }
}

}  // namespace dlo::synthetic
