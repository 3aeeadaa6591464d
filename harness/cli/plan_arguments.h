// Owns: PlanArguments, what `dlo plan` is asked: a checkpoint folder, a topology, how the model
// runs; and its flags.
// Must not own: meaning (plan_command.h). Pure.
#pragma once

#include <string>

#include "config/offload_options.h"
#include "config/parallel_config.h"

namespace CLI {
class App;
}

namespace dlo::harness {

struct PlanArguments {
  std::string checkpoint;
  std::string runtime_dtype = "F32";
  bool all_in_runtime_dtype = false;  // no module is kept in F32
  bool fused_projections = false;
  bool online_quantization = false;
  bool no_offload = false;
  config::OffloadOptions options;  // changed by flags
  config::ParallelConfig parallel;
};

// Adds every flag but --json. `arguments` outlives `app`.
void add_plan_options(CLI::App& app, PlanArguments& arguments);

}  // namespace dlo::harness
