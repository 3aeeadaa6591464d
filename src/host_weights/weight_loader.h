// Owns: the loader's life cycle: preflight, ordinary loading of what no plan covers, callbacks,
// post-load, strict validation, calibration and eval, each at its place and recorded as an event.
// Must not own: the plan's consumption (plan_consumer.h), placement, which models there are.
// Threading: launching thread; bytes are copied on the executor's workers.
// Failure: the refusals of load_ordinary and of the hooks. A preflight that says no is none: it
// is the report's fallback. Source: behaviour.md 2.2 and 2.5; reference "The loader owns
// host-weight planning".
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "contracts/host_weight_plan.h"
#include "contracts/parameter_table.h"
#include "host_weights/checkpoint_names.h"
#include "host_weights/component_source.h"
#include "host_weights/editable_tensors.h"
#include "host_weights/ordinary_loader.h"
#include "host_weights/preflight.h"
#include "platform/device.h"
#include "platform/executor.h"
#include "platform/file_system.h"

namespace dlo::host_weights {

// What a model does to its weights once they are there. Unset steps do nothing.
struct LoadHooks {
  using Step = std::function<Status(EditableTensors&)>;
  Step callbacks;              // of custom loaders; adapters stand for them under a plan
  Step post_load;              // runs once; its edits and casts count
  Step validate;               // strict, after post-load
  Step calibrate;              // may change weights; everything later sees it
  std::function<void()> eval;  // the model's own switch to inference
};

struct WeightLoadRequest {
  std::vector<const contracts::DitSpec*> dits;       // parents before children
  std::vector<const contracts::TensorSpec*> others;  // of other components: encoders
  std::vector<ComponentSource> sources;              // of all components
  platform::Path model_path;                         // for models without sources
  KeyRemapper remap_key;                             // of the preflight
  bool offload = true;                               // DLO is on: a plan has a consumer
  bool map_checkpoint = true;                        // false: never ask the preflight
  std::int64_t tensor_parallel_size = 1;
  bool use_hsdp = false;
  bool online_quantization = false;
  std::size_t thread_count = kDefaultLoadThreads;
  LoadHooks hooks;
};

// What the preflight of such a load is asked.
[[nodiscard]] PreflightRequest preflight_request(const WeightLoadRequest& request);

struct WeightLoadResult {
  contracts::PlanHolder plan;               // holds one when the DiTs were not loaded
  std::unique_ptr<PrivateTensors> tensors;  // all that were loaded
  std::optional<Refusal> fallback;          // the preflight's no, where it was asked
  LoadReport report;
  std::vector<std::string> events;  // "preflight: planned", "load", "post_load", ...
};

// With a plan, the DiTs' hooks wait for its consumer: consume_plan(). `device` outlives the result.
[[nodiscard]] Result<WeightLoadResult> load_weights(const platform::FileSystem& files,
                                                    platform::Device& device,
                                                    platform::Executor& executor,
                                                    const WeightLoadRequest& request);

// The steps behind the last byte loaded, in order; appends one event each. With a plan callbacks
// are left out and post-load runs only if the plan's bytes have not seen it.
[[nodiscard]] Status run_final_steps(const LoadHooks& hooks, bool callbacks, bool post_load,
                                     EditableTensors& tensors, std::vector<std::string>& events);

}  // namespace dlo::host_weights
