// Owns: the checkpoint preflight: the proof that a checkpoint can back a model's weights as it lies
// on disk, or the first reason against it.
// Must not own: mappings that outlive it (mapped_tensors.h), ordinary loading, placement.
// Threading: launching thread. Mutates nothing; reads headers and index files only, and no file at
// all when the topology already rules a plan out.
// Failure: never an exception: a refusal with the fallback code, its `what` beginning with one of
// plan_obstacles where the code is checkpoint_plan_incompatible. Source: behaviour.md 2.3.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "contracts/host_weight_plan.h"
#include "contracts/parameter_table.h"
#include "host_weights/checkpoint_names.h"
#include "host_weights/component_source.h"
#include "platform/file_system.h"

namespace dlo::host_weights {

// What stands against a plan, in the order of the checks.
namespace plan_obstacles {
inline constexpr std::string_view kMixedSource = "mixed source";
inline constexpr std::string_view kNoSource = "no source";
inline constexpr std::string_view kIo = "unreadable checkpoint";
inline constexpr std::string_view kDuplicateMapping = "duplicate mapping";
inline constexpr std::string_view kNothingIndexed = "nothing indexed";
inline constexpr std::string_view kNothingRequired = "no required tensors";
inline constexpr std::string_view kMissingBindings = "missing bindings";
inline constexpr std::string_view kCustomLoader = "custom loader without adapter";
inline constexpr std::string_view kMissingFile = "missing file";
inline constexpr std::string_view kRepeatedName = "repeated name";
inline constexpr std::string_view kMissingKey = "missing key";
inline constexpr std::string_view kShape = "shape mismatch";
inline constexpr std::string_view kDType = "dtype mismatch";
}  // namespace plan_obstacles

struct PreflightRequest {
  std::vector<const contracts::DitSpec*> dits;
  std::vector<ComponentSource> sources;  // of the whole pipeline
  platform::Path model_path;             // searched when there are no sources
  KeyRemapper remap_key;
  std::int64_t tensor_parallel_size = 1;
  bool use_hsdp = false;
  bool online_quantization = false;  // a quantization method wants to make the weights itself
};

// Codes, in the order of the checks: unsupported_tp, unsupported_hsdp,
// unsupported_online_quantization, checkpoint_plan_incompatible.
[[nodiscard]] Result<contracts::HostWeightPlan> preflight_checkpoint(
    const platform::FileSystem& files, const PreflightRequest& request);

}  // namespace dlo::host_weights
