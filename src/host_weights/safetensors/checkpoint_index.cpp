#include "host_weights/safetensors/checkpoint_index.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/codes.h"
#include "host_weights/safetensors/quoted_name.h"
#include "host_weights/safetensors/weight_files.h"
#include "host_weights/safetensors/weight_map.h"

namespace dlo::host_weights {

using platform::Path;

// Builds one ComponentCheckpoint.
class ComponentOpener {
 public:
  explicit ComponentOpener(const platform::FileSystem& files) : files_(files) {}

  Status open_single(const Path& path);
  Status open_sharded(const WeightFiles& weights);
  ComponentCheckpoint take();

 private:
  Status require_shards(const Path& folder, const std::set<std::string>& shards) const;
  Status open_shards(const Path& folder, const std::set<std::string>& shards);
  Status check_mapped_tensors(const WeightMap& map) const;
  Status check_stored_tensors(const WeightMap& map) const;
  void note_differences(const WeightFiles& weights, const WeightMap& map,
                        const std::set<std::string>& shards);
  Status add(const Path& path);
  const SafetensorsFile& shard(const std::string& name) const {
    return opened_.files_[file_index_.at(name)];
  }

  const platform::FileSystem& files_;
  ComponentCheckpoint opened_;
  std::map<std::string, std::size_t> file_index_;
  Path index_path_;
};

Status ComponentOpener::add(const Path& path) {
  auto file = SafetensorsFile::open(files_, path);
  if (!file) {
    return file.refusal();
  }
  for (const auto& name : file->header().repeated_names) {
    opened_.notes_.push_back(path.filename().string() + " lists tensor " + quoted_name(name) +
                             " more than once; the last entry counts");
  }
  file_index_.emplace(path.filename().string(), opened_.files_.size());
  opened_.files_.push_back(std::move(*file));
  return {};
}

Status ComponentOpener::open_single(const Path& path) {
  return add(path);
}

// All missing shards in one message, before any of the others is opened.
Status ComponentOpener::require_shards(const Path& folder,
                                       const std::set<std::string>& shards) const {
  std::vector<std::string> missing;
  for (const auto& name : shards) {
    const auto info = files_.stat(folder / name);
    if (!info && info.refusal().code != codes::kFileNotFound) {
      return info.refusal();
    }
    if (!info) {
      missing.push_back(name);
    }
  }
  if (missing.empty()) {
    return {};
  }
  return refuse(codes::kMissingShard,
                fmt::format("{} of {} shards are not there: {}", missing.size(), shards.size(),
                            fmt::join(missing, ", ")),
                index_path_.string(), "download the missing files; nothing was loaded");
}

Status ComponentOpener::open_shards(const Path& folder, const std::set<std::string>& shards) {
  if (auto status = require_shards(folder, shards); !status) {
    return status;
  }
  for (const auto& name : shards) {
    if (auto status = add(folder / name); !status) {
      return status;
    }
  }
  return {};
}

// Every name of the map lies in the shard that the map says.
Status ComponentOpener::check_mapped_tensors(const WeightMap& map) const {
  for (const auto& [tensor, name] : map.shard_of) {
    if (shard(name).find(tensor) != nullptr) {
      continue;
    }
    std::string elsewhere;
    for (const auto& file : opened_.files_) {
      if (file.find(tensor) != nullptr) {
        elsewhere = "; it lies in " + file.path().filename().string();
      }
    }
    return refuse(codes::kMissingTensor,
                  "the index places tensor " + quoted_name(tensor) + " in " + name +
                      ", which does not have it" + elsewhere,
                  index_path_.string(), "replace index and shards by files of one download");
  }
  return {};
}

// Every tensor of a shard is one that the map places there.
Status ComponentOpener::check_stored_tensors(const WeightMap& map) const {
  for (const auto& file : opened_.files_) {
    const auto name = file.path().filename().string();
    for (const auto& record : file.header().tensors) {
      const auto mapped = map.shard_of.find(record.name);
      if (mapped == map.shard_of.end()) {
        return refuse(
            codes::kIndexInvalid,
            name + " has tensor " + quoted_name(record.name) + ", which the index does not list",
            index_path_.string(), "replace index and shards by files of one download");
      }
      if (mapped->second != name) {
        return refuse(
            codes::kDuplicateTensor,
            "tensor " + quoted_name(record.name) + " lies in " + mapped->second + " and in " + name,
            index_path_.string(), "replace index and shards by files of one download");
      }
    }
  }
  return {};
}

void ComponentOpener::note_differences(const WeightFiles& weights, const WeightMap& map,
                                       const std::set<std::string>& shards) {
  for (const auto& name : weights.strays) {
    if (!shards.contains(name)) {
      opened_.notes_.push_back(name + " is not in the index and was ignored");
    }
  }
  std::uint64_t stored_bytes = 0;
  for (const auto& file : opened_.files_) {
    for (const auto& record : file.header().tensors) {
      stored_bytes += record.size_bytes();
    }
  }
  if (map.total_size_bytes && *map.total_size_bytes != stored_bytes) {
    opened_.notes_.push_back(fmt::format("the index counts {} bytes of tensors, the shards hold {}",
                                         *map.total_size_bytes, stored_bytes));
  }
}

Status ComponentOpener::open_sharded(const WeightFiles& weights) {
  index_path_ = weights.path;
  const auto text = files_.read_text(index_path_, kIndexLimitBytes);
  if (!text) {
    return text.refusal();
  }
  const auto map = parse_weight_map(*text, index_path_.string());
  if (!map) {
    return map.refusal();
  }
  std::set<std::string> shards;
  for (const auto& [tensor, name] : map->shard_of) {
    shards.insert(name);
  }
  if (auto status = open_shards(index_path_.parent_path(), shards); !status) {
    return status;
  }
  if (auto status = check_mapped_tensors(*map); !status) {
    return status;
  }
  if (auto status = check_stored_tensors(*map); !status) {
    return status;
  }
  note_differences(weights, *map, shards);
  return {};
}

ComponentCheckpoint ComponentOpener::take() {
  auto& tensors = opened_.tensors_;
  for (std::size_t file = 0; file < opened_.files_.size(); ++file) {
    const auto& records = opened_.files_[file].header().tensors;
    for (std::size_t record = 0; record < records.size(); ++record) {
      tensors.push_back({records[record].name, file, record});
    }
  }
  std::sort(tensors.begin(), tensors.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return std::move(opened_);
}

Result<ComponentCheckpoint> ComponentCheckpoint::open(const platform::FileSystem& files,
                                                      const Path& path) {
  const auto weights = find_weight_files(files, path);
  if (!weights) {
    return weights.refusal();
  }
  ComponentOpener opener(files);
  const auto status =
      weights->is_index ? opener.open_sharded(*weights) : opener.open_single(weights->path);
  if (!status) {
    return status.refusal();
  }
  return opener.take();
}

const ComponentTensor* ComponentCheckpoint::find(std::string_view name) const {
  const auto found =
      std::lower_bound(tensors_.begin(), tensors_.end(), name,
                       [](const auto& tensor, std::string_view key) { return tensor.name < key; });
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

const TensorRecord& ComponentCheckpoint::record(const ComponentTensor& tensor) const {
  return files_.at(tensor.file_index).header().tensors.at(tensor.record_index);
}

TensorView ComponentCheckpoint::view(const ComponentTensor& tensor) const {
  return files_.at(tensor.file_index).view(record(tensor));
}

Result<TensorView> ComponentCheckpoint::view(std::string_view name) const {
  const auto* tensor = find(name);
  if (tensor == nullptr) {
    return refuse(codes::kMissingTensor, "no tensor " + quoted_name(name) + " in the component",
                  files_.front().path().parent_path().string(), "use a checkpoint of this model");
  }
  return view(*tensor);
}

Status ComponentCheckpoint::check_intact() const {
  for (const auto& file : files_) {
    if (auto status = file.check_intact(); !status) {
      return status;
    }
  }
  return {};
}

}  // namespace dlo::host_weights
