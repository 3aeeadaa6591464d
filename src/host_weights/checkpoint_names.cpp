#include "host_weights/checkpoint_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include "base/codes.h"
#include "host_weights/safetensors/weight_map.h"

namespace dlo::host_weights {

namespace {

using platform::Path;

// Deeper than any model tree; a symlink that leads back up ends here.
constexpr int kTreeDepthLimit = 8;

// Hidden names are leftovers of tools, never weights.
std::vector<std::string> names_ending(const std::vector<std::string>& names,
                                      std::string_view suffix) {
  std::vector<std::string> found;
  std::copy_if(names.begin(), names.end(), std::back_inserter(found), [&](const std::string& name) {
    return !name.starts_with('.') && name.ends_with(suffix);
  });
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

Result<const SafetensorsFile*> OpenedFiles::open(const Path& path) {
  if (const auto found = opened_.find(path); found != opened_.end()) {
    return found->second.get();
  }
  auto file = SafetensorsFile::open(*files_, path);
  if (!file) {
    return file.refusal();
  }
  const auto added =
      opened_.emplace(path, std::make_unique<SafetensorsFile>(std::move(file).value())).first;
  return added->second.get();
}

Status CheckpointNames::add_source(const ComponentSource& source) {
  const Path path = source.folder();
  const auto info = files_->stat(path);
  if (!info) {
    return info.refusal();
  }
  if (info->kind == platform::FileKind::kDirectory) {
    return add_folder(path, source);
  }
  return path.filename().string().ends_with(kIndexSuffix) ? add_index(path, source.prefix)
                                                          : add_file(path, source.prefix);
}

Status CheckpointNames::add_folder(const Path& folder, const ComponentSource& source) {
  const auto names = files_->list(folder);
  if (!names) {
    return names.refusal();
  }
  const auto& patterns = source.file_patterns;
  const auto indices =
      patterns.empty() ? names_ending(*names, kIndexSuffix) : std::vector<std::string>{};
  for (const auto& name : indices) {
    if (auto status = add_index(folder / name, source.prefix); !status) {
      return status;
    }
  }
  if (!indices.empty()) {
    return {};
  }
  for (const auto& name : names_ending(*names, kWeightsSuffix)) {
    const bool wanted =
        patterns.empty() || std::any_of(patterns.begin(), patterns.end(), [&](const auto& pattern) {
          return matches_pattern(name, pattern);
        });
    if (!wanted) {
      continue;
    }
    if (auto status = add_file(folder / name, source.prefix); !status) {
      return status;
    }
  }
  return {};
}

Status CheckpointNames::add_tree(const Path& root) {
  return add_subtree(root, 0);
}

Status CheckpointNames::add_subtree(const Path& folder, int depth) {
  if (depth > kTreeDepthLimit) {
    return refuse(
        codes::kFileUnreadable,
        fmt::format("folders nest deeper than {}; a symlink may lead back up", kTreeDepthLimit),
        folder.string(), "name the component's folder as a source");
  }
  if (auto status = add_folder(folder, {}); !status) {
    return status;
  }
  const auto names = files_->list(folder);
  if (!names) {
    return names.refusal();
  }
  for (const auto& name : *names) {
    const auto info = files_->stat(folder / name);
    if (!info) {
      return info.refusal();
    }
    if (info->kind != platform::FileKind::kDirectory) {
      continue;
    }
    if (auto status = add_subtree(folder / name, depth + 1); !status) {
      return status;
    }
  }
  return {};
}

Status CheckpointNames::add_index(const Path& path, const std::string& prefix) {
  const auto text = files_->read_text(path, kIndexLimitBytes);
  if (!text) {
    return text.refusal();
  }
  const auto map = parse_weight_map(*text, path.string());
  if (!map) {
    return map.refusal();
  }
  for (const auto& [key, shard] : map->shard_of) {
    if (auto status = add_key(prefix + key, {path.parent_path() / shard, key}); !status) {
      return status;
    }
  }
  return {};
}

Status CheckpointNames::add_file(const Path& path, const std::string& prefix) {
  const auto file = opened_->open(path);
  if (!file) {
    return file.refusal();
  }
  for (const auto& record : (*file)->header().tensors) {
    if (auto status = add_key(prefix + record.name, {path, record.name}); !status) {
      return status;
    }
  }
  return {};
}

Status CheckpointNames::add_key(const std::string& name, CheckpointEntry entry) {
  std::optional<std::string> runtime_name = name;
  if (remap_) {
    try {
      runtime_name = remap_(name);
    } catch (const std::exception& error) {
      return refuse(codes::kCheckpointInvalid,
                    fmt::format("the model cannot tell what '{}' is: {}", name, error.what()),
                    entry.file.string(), "use a checkpoint of this model");
    }
  }
  if (!runtime_name) {
    return {};
  }
  const auto [place, added] = entries_.try_emplace(*runtime_name, entry);
  if (added || place->second == entry) {
    return {};
  }
  return refuse(codes::kDuplicateTensor,
                fmt::format("'{}' of {} and '{}' of {} both become '{}'", place->second.key,
                            place->second.file.filename().string(), entry.key,
                            entry.file.filename().string(), *runtime_name),
                entry.file.parent_path().string(), "leave one of them");
}

}  // namespace dlo::host_weights
