// Owns: SyntheticTensors, the loader's side of a synthetic model: one private host tensor a name,
// freed for real when it is released, so that a view kept too long is found by ASan.
// Must not own: the expectation (synthetic_model.h draws the same bytes on its own).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/tensor_view.h"
#include "contracts/host_tensors.h"
#include "contracts/parameter_table.h"

namespace dlo::synthetic {

// Bytes of tensor `name`, contiguous: a pure function of (seed, name).
[[nodiscard]] std::vector<std::byte> tensor_content(std::uint64_t seed,
                                                    const contracts::TensorSpec& spec);

class SyntheticTensors final : public contracts::HostTensors {
 public:
  SyntheticTensors(const contracts::ParameterTable& table, std::uint64_t seed);

  [[nodiscard]] TensorView view(const std::string& name) const override;
  void release(const std::string& name) override;
  [[nodiscard]] std::uint64_t held_bytes() const override { return held_bytes_; }

 private:
  struct Tensor {
    DType dtype = DType::kU8;
    Shape shape;
    std::vector<std::byte> bytes;
  };

  std::map<std::string, Tensor> tensors_;
  std::uint64_t held_bytes_ = 0;
};

}  // namespace dlo::synthetic
