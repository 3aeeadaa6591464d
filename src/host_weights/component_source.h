// Owns: ComponentSource, where a pipeline component's weights come from, and SourceTensors, the
// safetensors files that it resolves to, opened, with every tensor found by checkpoint key.
// Must not own: which names a model wants (ordinary_loader.h), or the index's rules
// (safetensors/checkpoint_index.h).
// Threading: const functions from any thread. Views live as long as the object.
// Failure: refusals before any tensor byte is read: those of ComponentCheckpoint; empty_checkpoint
// when no file matches, duplicate_tensor when two files without an index hold one key.
// Source: behaviour.md 2.1.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host_weights/safetensors/checkpoint_index.h"
#include "platform/file_system.h"

namespace dlo::host_weights {

inline constexpr std::string_view kWeightsSuffix = ".safetensors";
inline constexpr std::string_view kIndexSuffix = ".safetensors.index.json";

struct ComponentSource {
  platform::Path path;                     // a diffusers folder, a component's folder or a file
  std::string subfolder;                   // "transformer"; empty: `path` itself
  std::string prefix;                      // in front of every checkpoint key: "transformer."
  std::vector<std::string> file_patterns;  // file names with * and ?; empty: index, else all

  [[nodiscard]] platform::Path folder() const {
    return subfolder.empty() ? path : path / subfolder;
  }
};

// One tensor of a source.
struct SourceTensor {
  const SafetensorsFile* file = nullptr;
  const TensorRecord* record = nullptr;
  std::size_t file_rank = 0;  // of the file in natural order of names

  [[nodiscard]] TensorView view() const { return file->view(*record); }
};

class SourceTensors {
 public:
  // Resolves and opens the files. Without patterns: a file is taken as it is; in a folder the index
  // decides, and without one every *.safetensors is taken.
  // Deviates from vLLM-Omni: two files without an index that hold the same key are refused, where
  // the file loaded last would win.
  [[nodiscard]] static Result<SourceTensors> open(const platform::FileSystem& files,
                                                  const ComponentSource& source);

  [[nodiscard]] const std::map<std::string, SourceTensor, std::less<>>& tensors() const {
    return tensors_;
  }
  // Null when no file has the key.
  [[nodiscard]] const SourceTensor* find(std::string_view key) const;
  // Files in natural order: the order of loading.
  [[nodiscard]] const std::vector<platform::Path>& file_paths() const { return paths_; }
  // Refuses with mapping_truncated when any file shrank under a read.
  [[nodiscard]] Status check_intact() const;

 private:
  [[nodiscard]] Status index_tensors();

  std::vector<ComponentCheckpoint> parts_;  // one, or one a file without an index
  std::vector<platform::Path> paths_;
  std::map<std::string, SourceTensor, std::less<>> tensors_;
};

// Order of names in which runs of digits compare as numbers: "a-2" before "a-10".
[[nodiscard]] bool natural_less(std::string_view a, std::string_view b);

// Whether `name` matches `pattern`, in which * stands for any text and ? for one character.
[[nodiscard]] bool matches_pattern(std::string_view name, std::string_view pattern);

}  // namespace dlo::host_weights
