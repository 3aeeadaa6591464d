// Owns: which sources a checkpoint folder has for a model's transformers, and what the loader is
// asked for; one place for runs and for their forecast.
// Must not own: loading (host_weights/weight_loader.h). Pure functions.
#pragma once

#include <string>
#include <vector>

#include "config/offload_config.h"
#include "config/parallel_config.h"
#include "contracts/parameter_table.h"
#include "host_weights/weight_loader.h"

namespace dlo::engine {

// One dedicated source a transformer: its own folder, its name as the prefix.
[[nodiscard]] std::vector<host_weights::ComponentSource> transformer_sources(
    const platform::Path& checkpoint, const std::vector<std::string>& transformers);

// Adds the tensors of a component beside the DiTs and the source of them, which no plan ever
// covers: `spec` is named as its folder, and outlives the request.
void add_component(const contracts::BlockSpec& spec, host_weights::WeightLoadRequest& request);

// Points into `table`. The preflight is asked only under distributed layerwise offload.
[[nodiscard]] host_weights::WeightLoadRequest weight_load_request(
    const contracts::ParameterTable& table, const std::vector<std::string>& transformers,
    const platform::Path& checkpoint, const config::OffloadConfig& config,
    const config::ParallelConfig& parallel);

}  // namespace dlo::engine
