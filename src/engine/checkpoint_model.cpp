#include "engine/checkpoint_model.h"

#include "base/error.h"
#include "host_weights/model_index.h"

namespace dlo::engine {

namespace {

model::PipelineDescription describe(host_weights::PipelineConfigs configs) {
  model::PipelineDescription description;
  for (auto& transformer : configs.transformers) {
    description.transformers.push_back(
        {transformer.entry.name, transformer.entry.class_name, std::move(transformer.config)});
  }
  description.scheduler_class = configs.scheduler.entry.class_name;
  description.scheduler = std::move(configs.scheduler.config);
  description.fields = std::move(configs.index.fields);
  return description;
}

Status add_text_encoder(const platform::FileSystem& files, const platform::Path& checkpoint,
                        const host_weights::ModelIndex& index,
                        model::PipelineDescription& description) {
  if (auto status = model::check_takes_prompts(description); !status) {
    return status;
  }
  auto encoder = host_weights::read_text_encoder_config(files, checkpoint, index);
  if (!encoder.ok()) {
    return encoder.refusal();
  }
  description.text_encoder = {encoder->entry.class_name, std::move(encoder->config)};
  return {};
}

}  // namespace

contracts::ParameterTable CheckpointModel::table() const {
  contracts::ParameterTable table;
  for (const auto& transformer : pipeline_.transformers) {
    table.dits.push_back(transformer->spec());
    for (const auto* child : transformer->child_rings()) {
      table.dits.push_back(*child);
    }
  }
  contracts::check_table(table);
  return table;
}

std::vector<std::string> CheckpointModel::components() const {
  std::vector<std::string> names;
  for (const auto& transformer : pipeline_.transformers) {
    names.push_back(transformer->spec().name);
  }
  return names;
}

void CheckpointModel::set_observers(
    const std::function<contracts::BlockObserver*(std::size_t)>& observer_of) {
  std::size_t ring = 0;
  for (const auto& transformer : pipeline_.transformers) {
    transformer->set_observer(observer_of(ring++));
    const std::size_t children = transformer->child_rings().size();
    for (std::size_t child = 0; child < children; ++child) {
      transformer->set_child_observer(child, observer_of(ring++));
    }
  }
}

std::vector<std::uint64_t> CheckpointModel::ring_walks(
    const std::vector<std::uint64_t>& forwards) const {
  require(forwards.size() == pipeline_.transformers.size(), "one count of forwards a transformer");
  std::vector<std::uint64_t> walks;
  for (std::size_t i = 0; i < forwards.size(); ++i) {
    walks.insert(walks.end(), 1 + pipeline_.transformers[i]->child_rings().size(), forwards[i]);
  }
  return walks;
}

Result<CheckpointModel> read_checkpoint_model(const platform::FileSystem& files,
                                              const ModelSpec& spec, const platform::Device& device,
                                              TextSource text) {
  auto configs = host_weights::read_pipeline_configs(files, spec.checkpoint);
  if (!configs.ok()) {
    return configs.refusal();
  }
  model::ModelOptions options;
  options.device = model::compute_device(device);
  options.runtime_dtype = spec.runtime_dtype;
  options.keep_fp32_modules = spec.keep_fp32_modules;
  options.compute_dtype = spec.compute_dtype;
  options.fused_projections = spec.fused_projections;
  options.attention =
      spec.attention == "fused" ? model::AttentionBackend::kFused : model::AttentionBackend::kPlain;
  const auto index = configs->index;
  auto description = describe(std::move(*configs));
  if (text == TextSource::kEncoder) {
    if (auto added = add_text_encoder(files, spec.checkpoint, index, description); !added) {
      return added.refusal();
    }
  }
  auto made = model::make_dit_pipeline(description, options);
  if (!made.ok()) {
    return made.refusal();
  }
  return CheckpointModel(std::move(made).value());
}

}  // namespace dlo::engine
