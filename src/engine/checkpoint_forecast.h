// Owns: the forecast for a checkpoint folder, from configuration files and headers alone: sources,
// the preflight's verdict, the block table, and device and host memory of every mode.
// Must not own: text (harness), weights, devices beyond one that names the CPU.
// Threading: launching thread. Failure: the refusals of read_checkpoint_model; a component that
// cannot be opened is a note, for the verdict tells what follows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/traffic_plan.h"
#include "base/result.h"
#include "config/offload_options.h"
#include "config/parallel_config.h"
#include "contracts/effective_transfer.h"
#include "engine/run_report.h"
#include "platform/file_system.h"

namespace dlo::engine {

struct ForecastRequest {
  ModelSpec model;
  config::OffloadOptions options;
  config::ParallelConfig parallel;
  bool online_quantization = false;
};

// A component of the pipeline that has weights.
struct SourceForecast {
  std::string component;
  std::string class_name;
  std::uint64_t file_count = 0;
  std::uint64_t tensor_count = 0;
  std::uint64_t bytes = 0;
  std::string dtypes;  // "BF16, F32"
  std::string note;    // why it could not be opened; of a text encoder, why prompts are refused
  // What a run does with a component that is no transformer: kOnDemand or kNotRead; empty of one
  // that is, for the modes tell.
  std::string placement = {};
  std::uint64_t device_bytes = 0;  // of one that comes to the device: beside the modes' own
};

// With prompts alone: loaded ordinarily, whatever the verdict, and on the device before a request
// denoises; in a resident run for good.
inline constexpr std::string_view kOnDemand = "ordinary, on demand";
inline constexpr std::string_view kNotRead = "not read";

struct BlockForecast {
  std::string name;
  std::uint64_t tensor_count = 0;
  std::uint64_t bytes = 0;           // of tensors
  std::uint64_t padded_bytes = 0;    // of its layout: what a slot holds
  std::uint64_t no_token_bytes = 0;  // of weights that do no work per token
  bool block = true;                 // false: the children outside the blocks
};

// What one way of running would take.
struct ModeForecast {
  std::string name;     // "resident", "rank_local", "staged", "all_gather"
  bool chosen = false;  // what the given options would do
  contracts::EffectiveTransfer effective;
  backend::MemoryPlan memory;
  std::uint64_t host_private_bytes = 0;  // a rank, pinned or not, while it runs
  std::uint64_t mapped_bytes = 0;        // of checkpoint files, shared by all ranks of a node
  backend::Traffic per_forward;
};

struct CheckpointForecast {
  std::vector<SourceForecast> sources;
  bool planned = false;             // the checkpoint can be mapped
  Refusal verdict;                  // why not; empty code when it can
  std::vector<Refusal> violations;  // rules that a run with these options would break
  std::vector<BlockForecast> blocks;
  std::vector<ModeForecast> modes;
  std::vector<std::string> notes;

  [[nodiscard]] std::uint64_t no_token_bytes() const;  // of all blocks
};

// `request.options` decide which mode is chosen; the others follow with everything else equal.
[[nodiscard]] Result<CheckpointForecast> forecast_checkpoint(const platform::FileSystem& files,
                                                             const ForecastRequest& request);

}  // namespace dlo::engine
