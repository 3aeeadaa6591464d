// Owns: MemoryFileSystem, a whole platform::FileSystem in memory for tests: files, folders,
// symlinks, files that cannot be read, truncation under a live mapping, and the failure of the n-th
// call that changes something.
// Must not own: durability (what a power cut leaves behind). Threading: any thread.
// Failure: the codes of the real file system, errno's name in `what`.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "platform/file_system.h"

namespace dlo::test_support {

class MemoryFileSystem : public platform::FileSystem {
 public:
  using Path = platform::Path;

  // Bytes shared by a file, its mappings and its writers.
  struct Content {
    std::mutex mutex;  // guards bytes while the file is being written
    std::string bytes;
    bool truncated = false;
  };

  // ---- Set-up by tests: parents are created, existing files replaced ----
  void put(const Path& path, std::string bytes);
  void put_directory(const Path& path);
  void put_symlink(const Path& path, const Path& target);
  void set_unreadable(const Path& path);
  // Cuts the file to `bytes`; its live mappings read zeros from there on and say truncated().
  void truncate(const Path& path, std::uint64_t bytes);
  // The n-th changing call from now (1 = the next) is refused with file_unwritable (EIO), once.
  void fail_change(std::size_t n);

  // ---- Observation ----
  [[nodiscard]] std::optional<std::string> contents(const Path& path) const;
  [[nodiscard]] std::vector<std::string> all_files() const;
  // Calls that changed something or tried to: create, write_at, sync, close, rename, ...
  [[nodiscard]] std::size_t change_count() const;

  [[nodiscard]] Result<platform::FileInfo> stat(const Path& path) const override;
  [[nodiscard]] Result<std::vector<std::string>> list(const Path& directory) const override;
  [[nodiscard]] Result<Path> read_link(const Path& path) const override;
  [[nodiscard]] Result<std::unique_ptr<platform::MappedFile>> map_read_only(
      const Path& path) const override;
  [[nodiscard]] Result<std::string> read_text(const Path& path,
                                              std::uint64_t limit_bytes) const override;
  [[nodiscard]] Result<std::unique_ptr<platform::WritableFile>> create(const Path& path) override;
  [[nodiscard]] Status make_directories(const Path& directory) override;
  [[nodiscard]] Status rename(const Path& from, const Path& to) override;
  [[nodiscard]] Status remove_file(const Path& path) override;
  [[nodiscard]] Status remove_tree(const Path& path) override;
  [[nodiscard]] Status sync_directory(const Path& directory) override;
  [[nodiscard]] Result<std::uint64_t> free_bytes(const Path& path) const override;

  // Counts one changing call; refuses it when its turn to fail has come. For the writers of files.
  [[nodiscard]] Status note_change(const Path& path);

 private:
  using ContentPtr = std::shared_ptr<Content>;

  // All of these expect mutex_ to be held.
  [[nodiscard]] Result<Path> resolve(const Path& path) const;
  [[nodiscard]] Result<ContentPtr> readable(const Path& path) const;
  [[nodiscard]] bool is_directory(const Path& resolved) const;
  void add_parents(const Path& path);
  [[nodiscard]] Status count_change(const Path& path);

  mutable std::mutex mutex_;
  std::map<Path, ContentPtr> files_;
  std::map<Path, Path> symlinks_;  // targets as they were put, which may be relative
  std::set<Path> directories_{"/"};
  std::set<Path> unreadable_;
  std::size_t changes_ = 0;
  std::size_t failing_change_ = 0;  // 0: none
};

}  // namespace dlo::test_support
