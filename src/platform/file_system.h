// Owns: FileSystem, the seam to files: mappings, reads, writes, renames and their durability.
// Must not own: file formats or cache protocol. Every failure is a Refusal with the path in
// `where`; errno's name stands in `what`. Implemented by posix/ and by fault decorators.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor_view.h"

namespace dlo::platform {

using Path = std::filesystem::path;

enum class FileKind : std::uint8_t { kRegular, kDirectory, kSymlink, kOther };

struct FileInfo {
  FileKind kind = FileKind::kOther;  // of the target; symlinks are followed
  std::uint64_t bytes = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};

// A whole file mapped PROT_READ, MAP_SHARED until destruction. Pages are shared through the page
// cache by every process that maps the file.
class MappedFile {
 public:
  virtual ~MappedFile() = default;

  [[nodiscard]] virtual ConstByteSpan bytes() const = 0;
  [[nodiscard]] virtual FileInfo info() const = 0;
  [[nodiscard]] virtual const Path& path() const = 0;

  // True once a read met a page that the file no longer has (it was truncated while mapped). The
  // fault is answered with zeros; whoever read must check this afterwards and discard the bytes.
  [[nodiscard]] virtual bool truncated() const = 0;
};

// A file being written. Destruction without close() closes and ignores errors.
class WritableFile {
 public:
  virtual ~WritableFile() = default;

  // Writes all of `bytes` at `offset_bytes`; short writes are continued. Thread-safe for disjoint
  // ranges.
  [[nodiscard]] virtual Status write_at(std::uint64_t offset_bytes, ConstByteSpan bytes) = 0;
  // fsync.
  [[nodiscard]] virtual Status sync() = 0;
  // Reports a late error of close(2). Idempotent.
  [[nodiscard]] virtual Status close() = 0;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  [[nodiscard]] virtual Result<FileInfo> stat(const Path& path) const = 0;
  // Names in a directory, sorted bytewise, without "." and "..".
  [[nodiscard]] virtual Result<std::vector<std::string>> list(const Path& directory) const = 0;
  // Where the symlink `path` itself points, existing or not.
  [[nodiscard]] virtual Result<Path> read_link(const Path& path) const = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<MappedFile>> map_read_only(
      const Path& path) const = 0;
  // The whole file; refuses one above `limit_bytes`.
  [[nodiscard]] virtual Result<std::string> read_text(const Path& path,
                                                      std::uint64_t limit_bytes) const = 0;
  // Creates a new file (an existing one is refused), mode 0644.
  [[nodiscard]] virtual Result<std::unique_ptr<WritableFile>> create(const Path& path) = 0;
  // mkdir -p.
  [[nodiscard]] virtual Status make_directories(const Path& directory) = 0;
  [[nodiscard]] virtual Status rename(const Path& from, const Path& to) = 0;
  [[nodiscard]] virtual Status remove_file(const Path& path) = 0;
  // rm -r; symlinks are unlinked, never followed. A missing path is no error.
  [[nodiscard]] virtual Status remove_tree(const Path& path) = 0;
  [[nodiscard]] virtual Status sync_directory(const Path& directory) = 0;
  [[nodiscard]] virtual Result<std::uint64_t> free_bytes(const Path& path) const = 0;
};

// A new file beside the one that it will be renamed to.
struct TemporaryFile {
  Path path;
  std::unique_ptr<WritableFile> file;
};

// Creates `path` + ".tmp<n>" with the lowest n that is free, so that runs repeat and neither a
// second writer nor what a killed one left is in the way.
[[nodiscard]] Result<TemporaryFile> create_sibling(FileSystem& files, const Path& path);

// Writes `text` to `path` so that a reader sees the old file, or none, or all of the new one:
// temporary sibling, write, sync, rename over `path`, sync of the directory.
[[nodiscard]] Status write_text_atomically(FileSystem& files, const Path& path,
                                           const std::string& text);

}  // namespace dlo::platform
