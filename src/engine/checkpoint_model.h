// Owns: the step from a diffusers folder to a model without weights and its scheduler settings.
// Must not own: weights or their loading (host_weights), placement (backend).
// Failure: the codes of host_weights/model_index.h and model/model_factory.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/run_report.h"
#include "model/dit_model.h"
#include "model/schedulers/flow_match_euler.h"

namespace dlo::engine {

struct CheckpointModel {
  std::unique_ptr<model::DitModel> transformer;
  model::FlowMatchEulerConfig scheduler;
  std::vector<std::string> notes;  // what was substituted, one sentence each
};

// A UniPC scheduler is replaced by flow-match Euler with the same flow_shift, and a note says so:
// the sampler does not touch what is offloaded.
// The model computes on `device`.
[[nodiscard]] Result<CheckpointModel> read_checkpoint_model(const platform::FileSystem& files,
                                                            const ModelSpec& model,
                                                            const platform::Device& device);

}  // namespace dlo::engine
