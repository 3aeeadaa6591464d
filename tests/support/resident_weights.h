// Owns: ResidentWeights, the resident baseline of a model in tests: one buffer a block and one for
// the non-block children, laid out as the product lays them out, announced and bound.
// Must not own: where values come from; a callback fills each tensor.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "contracts/block_layout.h"
#include "contracts/parameter_table.h"
#include "platform/device.h"

namespace dlo::test {

// Writes the bytes of one tensor; `out` has exactly its span.
using FillTensor = std::function<void(const contracts::TensorSpec& spec, ByteSpan out)>;

class ResidentWeights {
 public:
  // Places and binds every block of `spec` at place 0. `device` outlives the object.
  ResidentWeights(platform::Device& device, const contracts::DitSpec& spec, const FillTensor& fill);
  ~ResidentWeights();
  ResidentWeights(const ResidentWeights&) = delete;
  ResidentWeights& operator=(const ResidentWeights&) = delete;

  // The bytes of a tensor by runtime name, to look at or to change between forwards. Throws
  // LogicError for a name that the model does not have.
  [[nodiscard]] ByteSpan bytes(const std::string& name) const;

 private:
  struct Placed {
    const contracts::BlockSpec* block = nullptr;
    std::unique_ptr<contracts::BlockLayout> layout;
    std::unique_ptr<platform::DeviceBuffer> buffer;
  };
  void place(platform::Device& device, const contracts::BlockSpec& block, const FillTensor& fill);

  std::vector<Placed> placed_;
};

// Values of a plausible network, a function of the tensor's name and `seed` alone: gains near 1,
// biases and tables small, matrices scaled by their fan-in.
[[nodiscard]] FillTensor seeded_values(std::uint64_t seed);

}  // namespace dlo::test
