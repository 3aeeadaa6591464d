#include "host_weights/preflight.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/codes.h"
#include "host_weights/adapters/checkpoint_adapter.h"
#include "host_weights/load_coverage.h"

namespace dlo::host_weights {

namespace {

using contracts::DitSpec;
using contracts::HostWeightPlan;
using contracts::HostWeightPlanParts;
using contracts::TensorBinding;
using contracts::TensorSpec;

constexpr const char* kOrdinaryInstead = "the ordinary loader is used";

Refusal obstacle(std::string_view which, const std::string& detail, const std::string& where) {
  return refuse(codes::kCheckpointPlanIncompatible, fmt::format("{}: {}", which, detail), where,
                kOrdinaryInstead);
}

// What a refusal of files and formats means for the plan.
Refusal obstacle_of(const Refusal& refusal) {
  const auto which = refusal.code == codes::kDuplicateTensor ? plan_obstacles::kDuplicateMapping
                     : refusal.code == codes::kFileNotFound  ? plan_obstacles::kMissingFile
                                                             : plan_obstacles::kIo;
  return obstacle(which, fmt::format("{} [{}]", refusal.what, refusal.code), refusal.where);
}

Status check_topology(const PreflightRequest& request) {
  if (request.tensor_parallel_size != 1) {
    return refuse(codes::kUnsupportedTp,
                  fmt::format("TP={} requires the ordinary loader", request.tensor_parallel_size),
                  "tensor_parallel_size", kOrdinaryInstead);
  }
  if (request.use_hsdp) {
    return refuse(codes::kUnsupportedHsdp, "HSDP requires the ordinary loader", "use_hsdp",
                  kOrdinaryInstead);
  }
  if (request.online_quantization) {
    return refuse(codes::kUnsupportedOnlineQuantization,
                  "online quantization requires the ordinary loader", "quantization",
                  kOrdinaryInstead);
  }
  return {};
}

// One required tensor and the rules of its model.
struct Required {
  const TensorSpec* tensor = nullptr;
  const contracts::LoadRules* rules = nullptr;
};

// The first two files of one folder that hold a key.
struct KeyHolders {
  const platform::Path* first = nullptr;
  const platform::Path* second = nullptr;
};

// By folder and key.
using KeysOfFolders = std::map<platform::Path, std::unordered_map<std::string_view, KeyHolders>>;

KeysOfFolders keys_of_folders(const OpenedFiles& opened) {
  KeysOfFolders keys;
  for (const auto& [path, file] : opened.opened()) {
    auto& of_folder = keys[path.parent_path()];
    for (const auto& record : file->header().tensors) {
      auto& holders = of_folder[record.name];
      if (holders.first == nullptr) {
        holders.first = &path;
      } else if (holders.first != &path) {
        holders.second = &path;
      }
    }
  }
  return keys;
}

class Preflight {
 public:
  Preflight(const platform::FileSystem& files, const PreflightRequest& request)
      : request_(request), opened_(files), names_(files, opened_, request.remap_key) {}

  Result<HostWeightPlan> run();

 private:
  [[nodiscard]] bool nested(const DitSpec& dit) const;
  [[nodiscard]] Status find_sources();
  [[nodiscard]] Status collect_names();
  [[nodiscard]] Status collect_required();
  [[nodiscard]] Status check_bindings() const;
  [[nodiscard]] Status add_recipes();
  [[nodiscard]] Status check_metadata();
  [[nodiscard]] Status check_stored(const std::string& name, const TensorBinding& binding,
                                    const KeysOfFolders& keys) const;
  [[nodiscard]] std::string where() const;

  const PreflightRequest& request_;
  OpenedFiles opened_;
  CheckpointNames names_;
  std::vector<const ComponentSource*> planned_;
  std::vector<Required> required_;
  HostWeightPlanParts parts_;
};

std::string Preflight::where() const {
  return request_.sources.empty() ? request_.model_path.string()
                                  : request_.sources.front().folder().string();
}

// Deviates from vLLM-Omni: a DiT inside another one comes from the outer one's source, where every
// DiT needs a source of its own.
bool Preflight::nested(const DitSpec& dit) const {
  return std::any_of(request_.dits.begin(), request_.dits.end(),
                     [&](const DitSpec* other) { return dit.name.starts_with(other->name + "."); });
}

Status Preflight::find_sources() {
  if (request_.sources.empty()) {
    return {};
  }
  for (const auto& source : request_.sources) {
    if (source.prefix.empty()) {
      return obstacle(plan_obstacles::kMixedSource,
                      "a source without a prefix may hold other components' weights too",
                      source.folder().string());
    }
  }
  for (const auto* dit : request_.dits) {
    const std::string prefix = dit->name + ".";
    bool found = nested(*dit);
    for (const auto& source : request_.sources) {
      if (source.prefix == prefix) {
        found = true;
        planned_.push_back(&source);
        parts_.planned_source_prefixes.insert(prefix);
      }
    }
    if (!found) {
      return obstacle(plan_obstacles::kMixedSource,
                      fmt::format("no source is dedicated to '{}'", dit->name), where());
    }
  }
  return {};
}

Status Preflight::collect_names() {
  Status status;
  if (request_.sources.empty()) {
    if (!request_.remap_key || request_.model_path.empty()) {
      return obstacle(plan_obstacles::kNoSource,
                      "without sources a model path and a key remapper are needed", where());
    }
    status = names_.add_tree(request_.model_path);
  }
  for (const auto* source : planned_) {
    if (status.ok()) {
      status = names_.add_source(*source);
    }
  }
  if (!status.ok()) {
    return obstacle_of(status.refusal());
  }
  if (names_.entries().empty()) {
    return obstacle(plan_obstacles::kNothingIndexed, "no safetensors file has a tensor", where());
  }
  return {};
}

Status Preflight::collect_required() {
  for (const auto* dit : request_.dits) {
    for (const auto& block : dit->blocks) {
      for (const auto& tensor : block.tensors) {
        required_.push_back({&tensor, &dit->loading});
      }
    }
    for (const auto& tensor : dit->non_block.tensors) {
      required_.push_back({&tensor, &dit->loading});
    }
  }
  if (required_.empty()) {
    return obstacle(plan_obstacles::kNothingRequired,
                    "the transformers have neither parameters nor persistent buffers", where());
  }
  return {};
}

Status Preflight::check_bindings() const {
  std::vector<std::string> missing;
  std::size_t custom = 0;
  for (const auto& [tensor, rules] : required_) {
    if (!names_.entries().contains(tensor->name)) {
      missing.push_back(tensor->name);
      custom += rules->needs_adapter(tensor->name) ? std::size_t{1} : std::size_t{0};
    }
  }
  if (missing.empty()) {
    return {};
  }
  std::string detail =
      fmt::format("{} of {} tensors: {}", missing.size(), required_.size(), first_names(missing));
  if (custom != 0) {
    detail += fmt::format("; {} of them have a loader of their own", custom);
  }
  return obstacle(plan_obstacles::kMissingBindings, detail, where());
}

Status Preflight::add_recipes() {
  for (const auto& [tensor, rules] : required_) {
    const CheckpointEntry& entry = names_.entries().at(tensor->name);
    TensorBinding binding{entry.file, tensor->dtype, tensor->shape,
                          contracts::CopyRecipe::identity(entry.key, tensor->shape)};
    if (rules->needs_adapter(tensor->name)) {
      const auto* adapter = find_adapter(rules->model_class);
      const auto policy = adapter == nullptr ? std::nullopt : adapter->policy(*tensor, *rules);
      if (!policy) {
        return obstacle(plan_obstacles::kCustomLoader,
                        fmt::format("'{}' of class '{}'", tensor->name, rules->model_class),
                        entry.file.string());
      }
      if (policy->recipe) {
        binding.recipe = *policy->recipe;
        for (auto& copy : binding.recipe.copies) {
          copy.source_key = entry.key;
        }
      }
    }
    parts_.bindings.emplace(tensor->name, std::move(binding));
  }
  return {};
}

// Deviates from vLLM-Omni: a file that lists a tensor twice, and a tensor that lies in two shards
// of an index, are never mapped, where the last entry or the index would decide.
Status Preflight::check_metadata() {
  for (const auto& [name, binding] : parts_.bindings) {
    const auto file = opened_.open(binding.file_path);
    if (!file) {
      return obstacle_of(file.refusal());
    }
    if (const auto& repeated = (*file)->header().repeated_names; !repeated.empty()) {
      return obstacle(plan_obstacles::kRepeatedName,
                      fmt::format("the file lists {} more than once", first_names(repeated)),
                      binding.file_path.string());
    }
  }
  const auto keys = keys_of_folders(opened_);
  for (const auto& [name, binding] : parts_.bindings) {
    if (auto status = check_stored(name, binding, keys); !status) {
      return status;
    }
  }
  return {};
}

Status Preflight::check_stored(const std::string& name, const TensorBinding& binding,
                               const KeysOfFolders& keys) const {
  const std::string& key = binding.source_key();
  const auto folder = binding.file_path.parent_path();
  const auto& of_folder = keys.at(folder);
  if (const auto holders = of_folder.find(key);
      holders != of_folder.end() && holders->second.second != nullptr) {
    return obstacle(
        plan_obstacles::kDuplicateMapping,
        fmt::format("'{}' lies in {} and in {}", key, holders->second.first->filename().string(),
                    holders->second.second->filename().string()),
        folder.string());
  }
  const auto* record = opened_.opened().at(binding.file_path)->find(key);
  if (record == nullptr) {
    return obstacle(plan_obstacles::kMissingKey,
                    fmt::format("'{}', which '{}' needs, is not in the file", key, name),
                    binding.file_path.string());
  }
  if (record->shape != binding.shape) {
    return obstacle(plan_obstacles::kShape,
                    fmt::format("'{}' is {} in the checkpoint, '{}' runs as {}", key,
                                shape_text(record->shape), name, shape_text(binding.shape)),
                    binding.file_path.string());
  }
  if (record->dtype != binding.dtype) {
    return obstacle(plan_obstacles::kDType,
                    fmt::format("'{}' is {} in the checkpoint, '{}' runs in {}", key,
                                dtype_name(record->dtype), name, dtype_name(binding.dtype)),
                    binding.file_path.string());
  }
  return {};
}

Result<HostWeightPlan> Preflight::run() {
  constexpr std::array kSteps = {&Preflight::find_sources, &Preflight::collect_names,
                                 &Preflight::collect_required};
  for (const auto step : kSteps) {
    if (auto status = (this->*step)(); !status) {
      return status.refusal();
    }
  }
  if (const auto status = check_bindings(); !status) {
    return status.refusal();
  }
  if (const auto status = add_recipes(); !status) {
    return status.refusal();
  }
  if (const auto status = check_metadata(); !status) {
    return status.refusal();
  }
  return HostWeightPlan(std::move(parts_));
}

}  // namespace

Result<HostWeightPlan> preflight_checkpoint(const platform::FileSystem& files,
                                            const PreflightRequest& request) {
  if (const auto status = check_topology(request); !status) {
    return status.refusal();
  }
  return Preflight(files, request).run();
}

}  // namespace dlo::host_weights
