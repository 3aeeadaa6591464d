#include "tests/unit/model/tiny_wan.h"

#include "base/value_generator.h"

namespace dlo::test {

nlohmann::json tiny_wan_config(std::int64_t blocks) {
  return {{"_class_name", "WanTransformer3DModel"},
          {"patch_size", {1, 2, 2}},
          {"num_attention_heads", 2},
          {"attention_head_dim", 12},
          {"in_channels", 4},
          {"out_channels", 4},
          {"text_dim", 10},
          {"freq_dim", 16},
          {"ffn_dim", 20},
          {"num_layers", blocks},
          {"rope_max_seq_len", 16}};
}

std::unique_ptr<model::DitModel> make_tiny_wan(std::int64_t blocks,
                                               const model::ModelOptions& options) {
  return model::make_wan(tiny_wan_config(blocks), options).value();
}

TinyWanCall::TinyWanCall(platform::Device& device, std::uint64_t seed) {
  call_.latents = operand(device, {2, 4, 3, 4, 10});
  call_.timestep = operand(device, {2});
  call_.text_states = operand(device, {2, 7, 10});
  call_.output = operand(device, {2, 4, 3, 4, 10});
  for (auto* tensor : {&call_.latents, &call_.timestep, &call_.text_states}) {
    // The timestep is of the order of the training steps, the rest of unit variance.
    const bool is_timestep = tensor == &call_.timestep;
    const ValueGenerator values(shape_text(tensor->shape), seed);
    values.fill_normal({tensor->span.data, tensor->span.bytes}, DType::kF32, 0,
                       is_timestep ? 500.0F : 0.0F, is_timestep ? 100.0F : 1.0F);
  }
}

model::DeviceTensor TinyWanCall::operand(platform::Device& device, const Shape& shape) {
  const std::uint64_t bytes = tensor_bytes(shape, DType::kF32).value();
  buffers_.push_back(device.allocate_device(bytes, platform::MemoryPurpose::kOther).value());
  return {buffers_.back()->span(), DType::kF32, shape};
}

std::vector<std::byte> TinyWanCall::output_bytes() const {
  const DeviceSpan span = call_.output.span;
  return {span.data, span.data + span.bytes};
}

}  // namespace dlo::test
