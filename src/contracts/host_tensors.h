// Owns: HostTensors, the interface through which the backend reads loader-made host tensors by
// runtime name and lets go of each one as soon as it has been packed.
// Must not own: placement. Implemented by the ordinary loader's private tensors.
// Peak private host memory while the backend prepares shards is then one tensor above the shards,
// not a second model (reference 5.4).
#pragma once

#include <string>

#include "base/tensor_view.h"

namespace dlo::contracts {

class HostTensors {
 public:
  virtual ~HostTensors() = default;

  // The tensor, contiguous in its shape. Throws LogicError for a name that was never loaded or
  // was already released. Valid until release(name) or destruction.
  [[nodiscard]] virtual TensorView view(const std::string& name) const = 0;

  // Frees the memory behind `name`. Idempotent.
  virtual void release(const std::string& name) = 0;

  // Private bytes still held.
  [[nodiscard]] virtual std::uint64_t held_bytes() const = 0;
};

}  // namespace dlo::contracts
