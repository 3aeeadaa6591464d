// Owns: CheckpointNames, which runtime name lies under which key of which file, read from index
// files or, without one, from the headers; and OpenedFiles, the files that were looked into.
// Must not own: which names a model needs, or whether shapes and dtypes fit (preflight.h).
// Threading: launching thread. Reads headers only.
// Failure: refusals of the file system and of the formats; checkpoint_invalid when the remapper
// throws, duplicate_tensor when two checkpoint tensors map to one runtime name. Source:
// behaviour.md 2.3 step 5.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "host_weights/component_source.h"
#include "host_weights/safetensors/reader.h"
#include "platform/file_system.h"

namespace dlo::host_weights {

// From a source's name (prefix and key) to the runtime name; empty drops the key. An unset function
// changes nothing; what one throws makes the checkpoint invalid.
using KeyRemapper = std::function<std::optional<std::string>(const std::string& name)>;

// Files by path, each opened once.
class OpenedFiles {
 public:
  // `files` outlives the object.
  explicit OpenedFiles(const platform::FileSystem& files) : files_(&files) {}

  [[nodiscard]] Result<const SafetensorsFile*> open(const platform::Path& path);
  [[nodiscard]] const std::map<platform::Path, std::unique_ptr<SafetensorsFile>>& opened() const {
    return opened_;
  }

 private:
  const platform::FileSystem* files_;
  std::map<platform::Path, std::unique_ptr<SafetensorsFile>> opened_;
};

// Where a runtime name lies. Whether file and key exist is not known yet.
struct CheckpointEntry {
  platform::Path file;
  std::string key;

  friend bool operator==(const CheckpointEntry&, const CheckpointEntry&) = default;
};

class CheckpointNames {
 public:
  // The references outlive the object.
  CheckpointNames(const platform::FileSystem& files, OpenedFiles& opened, KeyRemapper remap)
      : files_(&files), opened_(&opened), remap_(std::move(remap)) {}

  // All index files of the source's folder, sorted; without one every safetensors file in it (with
  // patterns: those that match). A file is taken as it is.
  [[nodiscard]] Status add_source(const ComponentSource& source);
  // Every folder below `root` that has safetensors files, keys without a prefix.
  [[nodiscard]] Status add_tree(const platform::Path& root);

  [[nodiscard]] const std::map<std::string, CheckpointEntry>& entries() const { return entries_; }

 private:
  [[nodiscard]] Status add_folder(const platform::Path& folder, const ComponentSource& source);
  [[nodiscard]] Status add_subtree(const platform::Path& folder, int depth);
  [[nodiscard]] Status add_index(const platform::Path& path, const std::string& prefix);
  [[nodiscard]] Status add_file(const platform::Path& path, const std::string& prefix);
  [[nodiscard]] Status add_key(const std::string& name, CheckpointEntry entry);

  const platform::FileSystem* files_;
  OpenedFiles* opened_;
  KeyRemapper remap_;
  std::map<std::string, CheckpointEntry> entries_;
};

}  // namespace dlo::host_weights
