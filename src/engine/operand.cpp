#include "engine/operand.h"

#include <utility>

#include "base/codes.h"

namespace dlo::engine {

using platform::MemoryPurpose;

Result<std::unique_ptr<platform::HostBuffer>> make_twin(platform::Device& device,
                                                        std::uint64_t bytes) {
  // A copy between pageable memory and an accelerator holds up the launching thread, past any
  // deadline: there the twin is pinned.
  const bool pinned = device.native_stream(platform::StreamKind::kCompute).present();
  return pinned ? device.allocate_pinned(bytes, MemoryPurpose::kOther)
                : device.allocate_pageable(bytes, MemoryPurpose::kOther);
}

Result<Operand> make_operand(platform::Device& device, const Shape& shape, HostTwin twin) {
  const auto bytes = tensor_bytes(shape, DType::kF32);
  if (!bytes) {
    return refuse(codes::kInvalidValue, "an operand of shape " + shape_text(shape) + " overflows",
                  "requests", "ask for a smaller latent grid");
  }
  auto buffer = device.allocate_device(*bytes, MemoryPurpose::kOther);
  if (!buffer.ok()) {
    return buffer.refusal();
  }
  Operand operand;
  operand.tensor = {(*buffer)->span(), DType::kF32, shape};
  operand.device = std::move(buffer).value();
  if (twin == HostTwin::kPresent) {
    auto made = make_twin(device, *bytes);
    if (!made.ok()) {
      return made.refusal();
    }
    operand.host = std::move(made).value();
  }
  return operand;
}

}  // namespace dlo::engine
