// Owns: FaultingFileSystem, the decorator that lets reads of files fail as a FaultPlan says, or
// take longer, as on a slow disk. Must not own: the plan or its counters. Writes pass through
// untouched. Threading: the calls that can fail are made by the launching thread; nothing owned
// outlives it.
#pragma once

#include "platform/clock.h"
#include "platform/fault/fault_plan.h"
#include "platform/file_system.h"

namespace dlo::platform {

struct SlowDisk {
  Clock* clock = nullptr;  // not owned; null: reads keep their speed
  Nanoseconds delay = 0;   // before each map and read
};

class FaultingFileSystem : public FileSystem {
 public:
  // `inner` and `injector` outlive the object.
  FaultingFileSystem(FileSystem& inner, FaultInjector& injector, const SlowDisk& slow)
      : inner_(&inner), injector_(&injector), slow_(slow) {}

  [[nodiscard]] Result<FileInfo> stat(const Path& path) const override;
  [[nodiscard]] Result<std::vector<std::string>> list(const Path& directory) const override;
  [[nodiscard]] Result<std::unique_ptr<MappedFile>> map_read_only(const Path& path) const override;
  [[nodiscard]] Result<std::string> read_text(const Path& path,
                                              std::uint64_t limit_bytes) const override;

  [[nodiscard]] Result<std::unique_ptr<WritableFile>> create(const Path& path) override {
    return inner_->create(path);
  }
  [[nodiscard]] Status make_directories(const Path& directory) override {
    return inner_->make_directories(directory);
  }
  [[nodiscard]] Status rename(const Path& from, const Path& to) override {
    return inner_->rename(from, to);
  }
  [[nodiscard]] Status remove_file(const Path& path) override { return inner_->remove_file(path); }
  [[nodiscard]] Status remove_tree(const Path& path) override { return inner_->remove_tree(path); }
  [[nodiscard]] Status sync_directory(const Path& directory) override {
    return inner_->sync_directory(directory);
  }
  [[nodiscard]] Result<std::uint64_t> free_bytes(const Path& path) const override {
    return inner_->free_bytes(path);
  }

 private:
  void hold_up() const;

  FileSystem* inner_;
  FaultInjector* injector_;
  SlowDisk slow_;
};

}  // namespace dlo::platform
