#include "engine/checkpoint_sources.h"

namespace dlo::engine {

std::vector<host_weights::ComponentSource> transformer_sources(
    const platform::Path& checkpoint, const std::vector<std::string>& transformers) {
  std::vector<host_weights::ComponentSource> sources;
  for (const auto& name : transformers) {
    sources.push_back(
        {.path = checkpoint, .subfolder = name, .prefix = name + ".", .file_patterns = {}});
  }
  return sources;
}

void add_component(const contracts::BlockSpec& spec, host_weights::WeightLoadRequest& request) {
  for (const auto& tensor : spec.tensors) {
    request.others.push_back(&tensor);
  }
  request.sources.push_back({.path = request.model_path,
                             .subfolder = spec.name,
                             .prefix = spec.name + ".",
                             .file_patterns = {}});
}

host_weights::WeightLoadRequest weight_load_request(const contracts::ParameterTable& table,
                                                    const std::vector<std::string>& transformers,
                                                    const platform::Path& checkpoint,
                                                    const config::OffloadConfig& config,
                                                    const config::ParallelConfig& parallel) {
  host_weights::WeightLoadRequest request;
  for (const auto& dit : table.dits) {
    request.dits.push_back(&dit);
  }
  request.sources = transformer_sources(checkpoint, transformers);
  request.model_path = checkpoint;
  request.offload = config.strategy == config::OffloadStrategy::kDistributedLayerwise;
  request.map_checkpoint = config.checkpoint_mmap;
  request.tensor_parallel_size = parallel.tensor_parallel_size;
  request.use_hsdp = parallel.use_hsdp;
  return request;
}

}  // namespace dlo::engine
