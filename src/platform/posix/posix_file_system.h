// Owns: PosixFileSystem, the real FileSystem: read-only shared mappings guarded against
// truncation, writes that continue after short counts, atomic renames, durable directories.
// Must not own: formats, caches or locks. Threading: stateless, any thread.
// Failure: Refusals; `what` holds the action and errno's name, `where` the path. Descriptors are
// close-on-exec. Mappings install the SIGBUS guard if main has not.
#pragma once

#include "platform/file_system.h"

namespace dlo::platform {

class PosixFileSystem : public FileSystem {
 public:
  [[nodiscard]] Result<FileInfo> stat(const Path& path) const override;
  [[nodiscard]] Result<std::vector<std::string>> list(const Path& directory) const override;
  [[nodiscard]] Result<Path> read_link(const Path& path) const override;
  [[nodiscard]] Result<std::unique_ptr<MappedFile>> map_read_only(const Path& path) const override;
  [[nodiscard]] Result<std::string> read_text(const Path& path,
                                              std::uint64_t limit_bytes) const override;
  [[nodiscard]] Result<std::unique_ptr<WritableFile>> create(const Path& path) override;
  [[nodiscard]] Status make_directories(const Path& directory) override;
  [[nodiscard]] Status rename(const Path& from, const Path& to) override;
  [[nodiscard]] Status remove_file(const Path& path) override;
  [[nodiscard]] Status remove_tree(const Path& path) override;
  [[nodiscard]] Status sync_directory(const Path& directory) override;
  [[nodiscard]] Result<std::uint64_t> free_bytes(const Path& path) const override;
};

}  // namespace dlo::platform
