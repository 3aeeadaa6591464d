// Owns: SafetensorsFile, one safetensors file mapped shared and read-only, with its checked header.
// Must not own: several files of a component (checkpoint_index.h), copies of tensors.
// Threading: const functions from any thread. Views live as long as the file object.
// Failure: refusals with the path; a file that shrinks under the mapping is found by
// check_intact(), which whoever read bytes calls afterwards, before using what was read.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "host_weights/safetensors/header.h"
#include "platform/file_system.h"

namespace dlo::host_weights {

class SafetensorsFile {
 public:
  // Maps the file and checks its header. Codes: those of FileSystem, safetensors_invalid,
  // mapping_truncated.
  [[nodiscard]] static Result<SafetensorsFile> open(const platform::FileSystem& files,
                                                    const platform::Path& path);

  [[nodiscard]] const platform::Path& path() const { return path_; }
  [[nodiscard]] const Header& header() const { return header_; }
  // Null when the file has no tensor of that name.
  [[nodiscard]] const TensorRecord* find(std::string_view name) const;

  // The bytes of a tensor inside the mapping, at any address. Refuses with missing_tensor.
  [[nodiscard]] Result<TensorView> view(std::string_view name) const;
  // The same by record. Precondition: `record` belongs to this file.
  [[nodiscard]] TensorView view(const TensorRecord& record) const;

  // Refuses with mapping_truncated once a read met a page that the file no longer has.
  [[nodiscard]] Status check_intact() const;

  // For registration and identity.
  [[nodiscard]] const platform::MappedFile& mapping() const { return *mapping_; }

 private:
  SafetensorsFile(std::unique_ptr<platform::MappedFile> mapping, Header header);

  platform::Path path_;
  std::unique_ptr<platform::MappedFile> mapping_;
  Header header_;
  std::vector<std::size_t> by_name_;  // indices of header_.tensors, sorted by name
};

}  // namespace dlo::host_weights
