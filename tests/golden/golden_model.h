// Owns: what the golden runners of all families share: operands in device memory, a tap that
// collects intermediates, and GoldenModel, a transformer with its weights placed from a checkpoint
// folder, every ring of it.
// Must not own: which operands a family has, expectations or tolerances (comparison.h).
// Failure: refusals name the file; what must not fail throws RunError.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "host_weights/safetensors/checkpoint_index.h"
#include "model/model_factory.h"
#include "tests/golden/golden_tensors.h"
#include "tests/support/inline_device.h"
#include "tests/support/resident_weights.h"

namespace dlo::golden {

// A tensor in device memory with its buffer.
class GoldenOperand {
 public:
  GoldenOperand(platform::Device& device, const Shape& shape);
  GoldenOperand(platform::Device& device, const GoldenTensor& value);

  [[nodiscard]] const model::DeviceTensor& tensor() const { return tensor_; }
  [[nodiscard]] GoldenTensor value() const;

 private:
  std::unique_ptr<platform::DeviceBuffer> buffer_;
  model::DeviceTensor tensor_;
};

// Puts every intermediate into `out`, its name behind `prefix`.
class CollectingTap final : public model::ForwardTap {
 public:
  CollectingTap(std::string prefix, GoldenTensors& out) : prefix_(std::move(prefix)), out_(out) {}

  void see(std::string_view name, const at::Tensor& tensor) override;

 private:
  std::string prefix_;
  GoldenTensors& out_;
};

[[nodiscard]] GoldenTensor row(std::vector<float> values);

// Throws RunError with the device's failure, if it has one.
void require_success(platform::Device& device);

using MakeModel = Result<std::unique_ptr<model::DitModel>> (*)(const nlohmann::json& config,
                                                               const model::ModelOptions& options);

class GoldenModel {
 public:
  // `component` holds config.json and the weight files. Weights are converted to the model's
  // dtypes and put together by the model's own recipes. `device` outlives the result.
  [[nodiscard]] static Result<std::unique_ptr<GoldenModel>> open(
      const platform::FileSystem& files, platform::Device& device, const platform::Path& component,
      MakeModel make, const model::ModelOptions& options);

  [[nodiscard]] model::DitModel& model() { return *model_; }
  [[nodiscard]] const model::DitModel& model() const { return *model_; }
  // Every ring of the model.
  [[nodiscard]] contracts::ParameterTable table() const;
  // The placed bytes of a tensor of any ring.
  [[nodiscard]] ByteSpan bytes(const std::string& name) const;

 private:
  GoldenModel() = default;

  std::unique_ptr<model::DitModel> model_;
  std::vector<std::unique_ptr<test::ResidentWeights>> weights_;  // by ring
};

}  // namespace dlo::golden
