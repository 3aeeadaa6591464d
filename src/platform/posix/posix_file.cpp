#include "platform/posix/posix_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/codes.h"

namespace dlo::platform {

PosixMappedFile::PosixMappedFile(Path path, Descriptor file, const FileInfo& info,
                                 ConstByteSpan range)
    : path_(std::move(path)), file_(std::move(file)), info_(info), range_(range), guard_(range) {}

PosixMappedFile::~PosixMappedFile() {
  if (!range_.empty()) {
    ::munmap(const_cast<std::byte*>(range_.data()), range_.size());
  }
}

bool PosixMappedFile::truncated() const {
  struct stat now = {};
  return guard_.faulted() || ::fstat(file_.number(), &now) != 0 ||
         static_cast<std::uint64_t>(now.st_size) < range_.size();
}

PosixWritableFile::PosixWritableFile(Path path, Descriptor file)
    : path_(std::move(path)), file_(std::move(file)) {}

Status PosixWritableFile::write_at(std::uint64_t offset_bytes, ConstByteSpan bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(file_.number(), bytes.data(), bytes.size(), static_cast<off_t>(offset_bytes));
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return file_refusal(codes::kFileUnwritable, "write", path_, written < 0 ? errno : EIO);
    }
    offset_bytes += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Status PosixWritableFile::sync() {
  while (::fsync(file_.number()) != 0) {
    if (errno != EINTR) {
      return file_refusal(codes::kFileUnwritable, "sync", path_, errno);
    }
  }
  return {};
}

Status PosixWritableFile::close() {
  // Linux closes the descriptor even when it reports EINTR.
  if (file_.open() && ::close(file_.release()) != 0 && errno != EINTR) {
    return file_refusal(codes::kFileUnwritable, "close", path_, errno);
  }
  return {};
}

}  // namespace dlo::platform
