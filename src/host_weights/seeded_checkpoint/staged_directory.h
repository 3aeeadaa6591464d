// Owns: StagedDirectory, a folder that is written beside its final place and appears there whole by
// one rename, or not at all.
// Must not own: what is written into it. Threading: one thread.
// Failure: refusals of the file system with their path; the destructor removes what was not
// published and never throws. Names are durable after publish(), contents only if the writer
// synced them. Missing parent folders that open() made stay behind, empty.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "platform/file_system.h"

namespace dlo::host_weights {

class StagedDirectory {
 public:
  // Refuses (file_unwritable) a `target` that is a file or a folder with something in it, a parent
  // that cannot be written, and a disk with less than `needed_bytes` free, in this order. What an
  // earlier, killed writer of the same target left behind is removed. `files` outlives the object.
  [[nodiscard]] static Result<StagedDirectory> open(platform::FileSystem& files,
                                                    const platform::Path& target,
                                                    std::uint64_t needed_bytes);
  ~StagedDirectory();
  StagedDirectory(StagedDirectory&& other) noexcept;
  StagedDirectory& operator=(StagedDirectory&&) = delete;
  StagedDirectory(const StagedDirectory&) = delete;
  StagedDirectory& operator=(const StagedDirectory&) = delete;

  // Where to write: ".<name>.dlo-partial" beside the target.
  [[nodiscard]] const platform::Path& path() const { return staging_; }

  // Renames the folder to its target. Call once, after the last file is closed.
  [[nodiscard]] Status publish();

 private:
  StagedDirectory(platform::FileSystem& files, platform::Path target, platform::Path staging);

  platform::FileSystem* files_;  // null once moved from or published
  platform::Path target_;
  platform::Path staging_;
};

}  // namespace dlo::host_weights
