// Owns: the two kinds of open file of PosixFileSystem: a guarded shared mapping, and a file being
// written. Must not own: directories or names (posix_file_system).
// Threading and failure: as MappedFile and WritableFile of platform/file_system.h.
#pragma once

#include "platform/posix/descriptor.h"
#include "platform/posix/sigbus_guard.h"

namespace dlo::platform {

class PosixMappedFile : public MappedFile {
 public:
  // Takes over `range`, a shared read-only mapping of all of `file`.
  PosixMappedFile(Path path, Descriptor file, const FileInfo& info, ConstByteSpan range);
  ~PosixMappedFile() override;
  PosixMappedFile(const PosixMappedFile&) = delete;
  PosixMappedFile& operator=(const PosixMappedFile&) = delete;

  [[nodiscard]] ConstByteSpan bytes() const override { return range_; }
  [[nodiscard]] FileInfo info() const override { return info_; }
  [[nodiscard]] const Path& path() const override { return path_; }
  // Also asks for the file's present length: a cut inside a page reads as zeros without a fault.
  [[nodiscard]] bool truncated() const override;

 private:
  Path path_;
  Descriptor file_;
  FileInfo info_;
  ConstByteSpan range_;
  GuardedRange guard_;
};

class PosixWritableFile : public WritableFile {
 public:
  PosixWritableFile(Path path, Descriptor file);

  [[nodiscard]] Status write_at(std::uint64_t offset_bytes, ConstByteSpan bytes) override;
  [[nodiscard]] Status sync() override;
  [[nodiscard]] Status close() override;

 private:
  Path path_;
  Descriptor file_;
};

}  // namespace dlo::platform
