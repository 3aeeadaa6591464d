// Owns: the consumption of a HostWeightPlan: a model's own storage gives way to the mapping,
// computed buffers survive, the loader's last steps run on what is mapped.
// Must not own: the plan's making (weight_loader.h, preflight.h), placement on a device.
// Threading: launching thread.
// Failure: every refusal ends the start-up, for the model has no other weights any more: those of
// MappedTensors::open and of the hooks; missing_tensor when plan and model have not the same
// tensors, or a hook let go of one; mapping_truncated. Source: behaviour.md 3.4.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "contracts/host_weight_plan.h"
#include "host_weights/mapped_tensors.h"
#include "host_weights/weight_loader.h"

namespace dlo::host_weights {

// The storage that a model brings along from its construction: weights to be thrown away, and
// buffers that it computed (rotary tables), which no checkpoint has.
class ModelStorage {
 public:
  virtual ~ModelStorage() = default;

  // Names of the computed buffers of all DiTs.
  [[nodiscard]] virtual std::vector<std::string> computed_buffers() const = 0;
  [[nodiscard]] virtual TensorView computed_buffer(const std::string& name) const = 0;
  // Lets go of everything under the DiT `name`, nested DiTs and computed buffers included.
  virtual void discard(const std::string& name) = 0;
  virtual void restore(const std::string& name, const TensorView& buffer) = 0;
};

struct PlanConsumer {
  std::vector<const contracts::DitSpec*> dits;  // parents before children
  ModelStorage* storage = nullptr;              // null: the model brought none
  LoadHooks hooks;
};

// Appends "map", "post_load", "validate", "calibrate", "eval" to `events`. After a cast in
// post-load, view() of the tensor has the new dtype. `device` outlives the result.
[[nodiscard]] Result<std::unique_ptr<MappedTensors>> consume_plan(
    const platform::FileSystem& files, platform::Device& device,
    const contracts::HostWeightPlan& plan, const PlanConsumer& consumer,
    std::vector<std::string>& events);

}  // namespace dlo::host_weights
