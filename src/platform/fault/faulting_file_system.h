// Owns: FaultingFileSystem, the decorator that lets calls of a file system fail as a FaultPlan
// says, or reads take longer, as on a slow disk. Must not own: the plan or its counters.
// Threading: that of the file system below; what it hands out lives no longer than the injector.
// Failure: the refusal of the plan, and nothing has happened then.
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

 private:
  [[nodiscard]] Status strike(SeamCall call, const Path& path, std::string_view role) const;
  void hold_up() const;

  FileSystem* inner_;
  FaultInjector* injector_;
  SlowDisk slow_;
};

}  // namespace dlo::platform
