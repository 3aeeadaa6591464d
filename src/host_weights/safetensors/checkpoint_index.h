// Owns: ComponentCheckpoint, the tensors of one component: a single safetensors file, or the shards
// that a *.safetensors.index.json names, every file opened and held against the index.
// Must not own: which names a model wants (coverage), components of a pipeline (inspect.h).
// Threading: const functions from any thread. Views live as long as the object.
// Failure: refusals with a code each, before any byte of a tensor is read: file_not_found,
// file_unreadable, safetensors_invalid, index_invalid, ambiguous_index, missing_shard,
// missing_tensor, duplicate_tensor, unsupported_format, empty_checkpoint.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host_weights/safetensors/reader.h"
#include "platform/file_system.h"

namespace dlo::host_weights {

// One tensor of a component and where it lies.
struct ComponentTensor {
  std::string name;
  std::size_t file_index = 0;    // in ComponentCheckpoint::files()
  std::size_t record_index = 0;  // in that file's header().tensors
};

class ComponentCheckpoint {
 public:
  // `path`: a .safetensors file, an index file, or a component's folder. In a folder the index
  // wins over files that it does not name; two indices, or several files without one, are refused.
  // Index and shards must agree exactly: every name of the weight map in the shard that it names
  // and in no other, no tensor that the map does not know.
  [[nodiscard]] static Result<ComponentCheckpoint> open(const platform::FileSystem& files,
                                                        const platform::Path& path);

  // By file name.
  [[nodiscard]] const std::vector<SafetensorsFile>& files() const { return files_; }
  // By name.
  [[nodiscard]] const std::vector<ComponentTensor>& tensors() const { return tensors_; }
  // Null when the component has no tensor of that name.
  [[nodiscard]] const ComponentTensor* find(std::string_view name) const;
  [[nodiscard]] const TensorRecord& record(const ComponentTensor& tensor) const;
  [[nodiscard]] TensorView view(const ComponentTensor& tensor) const;
  // Refuses with missing_tensor.
  [[nodiscard]] Result<TensorView> view(std::string_view name) const;

  // Refuses with mapping_truncated when any of the files shrank under a read.
  [[nodiscard]] Status check_intact() const;

  // Facts worth a line that are no errors: stray files beside an index, a wrong total_size.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  friend class ComponentOpener;

  std::vector<SafetensorsFile> files_;
  std::vector<ComponentTensor> tensors_;
  std::vector<std::string> notes_;
};

}  // namespace dlo::host_weights
