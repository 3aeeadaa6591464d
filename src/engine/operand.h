// Owns: Operand, a tensor of the engine's own in device memory with its host twin, through which
// values enter and leave. Must not own: what it means, weights.
// Threading: launching thread. Failure: device_out_of_memory, host_out_of_memory, pin_failed, and
// invalid_value for a shape that overflows.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "model/device_tensor.h"
#include "platform/device.h"

namespace dlo::engine {

struct Operand {
  std::unique_ptr<platform::DeviceBuffer> device;
  std::unique_ptr<platform::HostBuffer> host;  // null: values neither enter nor leave
  model::DeviceTensor tensor;                  // F32
};

enum class HostTwin : std::uint8_t { kNone, kPresent };

// Host memory that copies from and to `device` never hold up the launching thread for.
[[nodiscard]] Result<std::unique_ptr<platform::HostBuffer>> make_twin(platform::Device& device,
                                                                      std::uint64_t bytes);

[[nodiscard]] Result<Operand> make_operand(platform::Device& device, const Shape& shape,
                                           HostTwin twin);

// Bytes of twins, by where they lie: they are no weights.
struct OperandBytes {
  std::uint64_t pinned = 0;
  std::uint64_t pageable = 0;

  void add(const platform::HostBuffer& buffer) {
    (buffer.pinned() ? pinned : pageable) += buffer.span().size();
  }
};

}  // namespace dlo::engine
