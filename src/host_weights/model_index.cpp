#include "host_weights/model_index.h"

#include <fmt/format.h>

#include "base/codes.h"
#include "host_weights/json_fields.h"
#include "host_weights/seeded_checkpoint/wan_shape.h"

namespace dlo::host_weights {

namespace {

using nlohmann::json;

constexpr std::string_view kCorrect = "correct the file or fetch the checkpoint again";

bool is_absent(const json& entry) {
  return entry.is_array() && entry.size() == 2 && entry[0].is_null() && entry[1].is_null();
}

// A component is written as ["library", "Class"]; any other value is a plain field. A list with
// text in only one of its two places is a mistake of the file.
Result<bool> is_component(const std::string& name, const json& entry, const std::string& where) {
  if (!entry.is_array() || entry.size() != 2) {
    return false;
  }
  if (entry[0].is_string() != entry[1].is_string()) {
    return refuse(
        codes::kCheckpointInvalid,
        fmt::format("component '{}' is {}, wanted [\"library\", \"Class\"]", name, entry.dump()),
        where, std::string(kCorrect));
  }
  return entry[0].is_string();
}

bool is_transformer_name(std::string_view name) {
  return name == "transformer" || name.starts_with("transformer_");
}

std::string_view config_file_name(const ComponentEntry& entry) {
  return entry.name == "scheduler" ? "scheduler_config.json" : "config.json";
}

Status check_transformer(const ComponentConfig& component) {
  const std::string& class_name = component.entry.class_name;
  if (class_name == kWanTransformerClass) {
    const auto shape = parse_wan_config(component.config, component.file.string());
    return shape ? Status() : Status(shape.refusal());
  }
  // The model itself refuses what it cannot be made of.
  if (class_name == kFluxTransformerClass || class_name == kH3TransformerClass) {
    return {};
  }
  return refuse(codes::kNotInThisProduct,
                fmt::format("component '{}' is of class '{}', which this product does not have",
                            component.entry.name, class_name),
                component.file.string(),
                fmt::format("use a checkpoint with a {}, a {} or a {}", kWanTransformerClass,
                            kFluxTransformerClass, kH3TransformerClass));
}

// The class that a component's configuration says it is of. transformers lists it where diffusers
// has a field.
Result<std::string> class_of(const ComponentEntry& entry, const json& config,
                             const std::string& where) {
  if (entry.library != "transformers") {
    return text_field(config, "_class_name", where);
  }
  const auto listed = config.find("architectures");
  if (listed == config.end() || !listed->is_array() || listed->size() != 1 ||
      !listed->front().is_string()) {
    return refuse(codes::kCheckpointInvalid, "'architectures' must be a list of one class name",
                  where, std::string(kCorrect));
  }
  return listed->front().get<std::string>();
}

// Components that a pipeline cannot do without. MiniMax-H3's schedules need no component.
Status check_components(const ModelIndex& index, const std::string& where) {
  const auto missing = [&where](std::string_view name) {
    return refuse(codes::kCheckpointInvalid, fmt::format("component '{}' is missing", name), where,
                  std::string(kCorrect));
  };
  const auto* transformer = index.find("transformer");
  if (transformer == nullptr) {
    return missing("transformer");
  }
  const bool scheduled = transformer->class_name != kH3TransformerClass;
  return scheduled && index.find("scheduler") == nullptr ? Status(missing("scheduler")) : Status();
}

}  // namespace

const ComponentEntry* ModelIndex::find(std::string_view name) const {
  for (const auto& component : components) {
    if (component.name == name) {
      return &component;
    }
  }
  return nullptr;
}

Result<ModelIndex> read_model_index(const platform::FileSystem& files, const platform::Path& root) {
  const platform::Path path = root / kModelIndexName;
  const std::string where = path.string();
  auto object = read_json_object(files, path);
  if (!object) {
    return object.refusal();
  }
  auto pipeline_class = text_field(*object, "_class_name", where);
  if (!pipeline_class) {
    return pipeline_class.refusal();
  }
  ModelIndex index;
  index.pipeline_class = *pipeline_class;
  index.fields = json::object();
  for (const auto& [name, value] : object->items()) {
    if (name == "_class_name" || name == "_diffusers_version" || is_absent(value)) {
      continue;
    }
    const auto component = is_component(name, value, where);
    if (!component) {
      return component.refusal();
    }
    if (*component) {
      index.components.push_back({name, value[0], value[1]});
    } else {
      index.fields[name] = value;
    }
  }
  return index;
}

Result<ComponentConfig> read_component_config(const platform::FileSystem& files,
                                              const platform::Path& root,
                                              const ComponentEntry& entry) {
  ComponentConfig component{entry, root / entry.name / config_file_name(entry), json()};
  auto object = read_json_object(files, component.file);
  if (!object) {
    return object.refusal();
  }
  component.config = std::move(*object);
  const auto class_name = class_of(entry, component.config, component.file.string());
  if (!class_name) {
    return class_name.refusal();
  }
  if (*class_name != entry.class_name) {
    return refuse(codes::kCheckpointInvalid,
                  fmt::format("class is '{}' where {} says '{}'", *class_name, kModelIndexName,
                              entry.class_name),
                  component.file.string(), std::string(kCorrect));
  }
  return component;
}

Result<ComponentConfig> read_text_encoder_config(const platform::FileSystem& files,
                                                 const platform::Path& root,
                                                 const ModelIndex& index) {
  const auto missing = [&root](const std::string& what) {
    return refuse(codes::kTextEncoderMissing, what, (root / kTextEncoderName).string(),
                  "use a checkpoint that has one, or leave prompt_tokens out: text states are then "
                  "seeded");
  };
  const auto* entry = index.find(kTextEncoderName);
  if (entry == nullptr) {
    return missing("the pipeline has no text encoder");
  }
  auto config = read_component_config(files, root, *entry);
  if (!config && config.refusal().code == codes::kFileNotFound) {
    return missing(fmt::format("{} names a {}, and its folder is not there", kModelIndexName,
                               entry->class_name));
  }
  return config;
}

Result<PipelineConfigs> read_pipeline_configs(const platform::FileSystem& files,
                                              const platform::Path& root) {
  auto index = read_model_index(files, root);
  if (!index) {
    return index.refusal();
  }
  PipelineConfigs configs;
  configs.index = std::move(*index);
  if (const auto status = check_components(configs.index, (root / kModelIndexName).string());
      !status) {
    return status.refusal();
  }
  for (const auto& entry : configs.index.components) {
    if (entry.name != "scheduler" && !is_transformer_name(entry.name)) {
      continue;
    }
    auto component = read_component_config(files, root, entry);
    if (!component) {
      return component.refusal();
    }
    if (entry.name == "scheduler") {
      configs.scheduler = std::move(*component);
      continue;
    }
    if (const auto status = check_transformer(*component); !status) {
      return status.refusal();
    }
    configs.transformers.push_back(std::move(*component));
  }
  return configs;
}

}  // namespace dlo::host_weights
