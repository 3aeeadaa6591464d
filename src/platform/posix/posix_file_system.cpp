#include "platform/posix/posix_file_system.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "base/codes.h"
#include "platform/posix/posix_file.h"

namespace dlo::platform {

namespace {

FileKind kind_of(mode_t mode) {
  if (S_ISREG(mode)) {
    return FileKind::kRegular;
  }
  if (S_ISDIR(mode)) {
    return FileKind::kDirectory;
  }
  return S_ISLNK(mode) ? FileKind::kSymlink : FileKind::kOther;
}

FileInfo info_of(const struct stat& found) {
  return FileInfo{kind_of(found.st_mode), static_cast<std::uint64_t>(found.st_size), found.st_dev,
                  found.st_ino};
}

struct OpenedFile {
  Descriptor file;
  FileInfo info;
};

// O_NONBLOCK: opening a named pipe must not wait for its writer.
Result<OpenedFile> open_regular(const Path& path) {
  OpenedFile opened{open_descriptor(path, O_RDONLY | O_NONBLOCK), {}};
  struct stat found = {};
  if (!opened.file.open() || ::fstat(opened.file.number(), &found) != 0) {
    return file_refusal(codes::kFileUnreadable, "open", path, errno);
  }
  opened.info = info_of(found);
  if (opened.info.kind != FileKind::kRegular) {
    return refuse(codes::kFileUnreadable, "not a regular file", path.string(),
                  "name a file, not a directory or a device");
  }
  return opened;
}

// Past the limit on file sizes the kernel sends SIGXFSZ, which ends the process; ignored, the
// write fails with EFBIG and becomes a refusal.
void ignore_file_size_signal() {
  struct sigaction current = {};
  if (::sigaction(SIGXFSZ, nullptr, &current) == 0 && (current.sa_flags & SA_SIGINFO) == 0 &&
      current.sa_handler == SIG_DFL) {
    current.sa_handler = SIG_IGN;
    ::sigaction(SIGXFSZ, &current, nullptr);
  }
}

// Up to `limit` + 1 bytes of `file`, so that the caller sees whether there were more.
Result<std::string> read_all(const Descriptor& file, const Path& path, std::uint64_t limit) {
  constexpr std::size_t kStepBytes = 64 * kKiB;
  std::string text;
  while (text.size() <= limit) {
    const std::size_t old_size = text.size();
    text.resize(old_size + kStepBytes);
    const ssize_t count = ::read(file.number(), text.data() + old_size, kStepBytes);
    text.resize(old_size + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0) {
      break;
    }
    if (count < 0 && errno != EINTR) {
      return file_refusal(codes::kFileUnreadable, "read", path, errno);
    }
  }
  return text;
}

}  // namespace

Result<FileInfo> PosixFileSystem::stat(const Path& path) const {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0) {
    return file_refusal(codes::kFileUnreadable, "look up", path, errno);
  }
  return info_of(found);
}

Result<std::vector<std::string>> PosixFileSystem::list(const Path& directory) const {
  std::error_code error;
  std::vector<std::string> names;
  std::filesystem::directory_iterator it(directory, error);
  while (!error && it != std::filesystem::directory_iterator()) {
    names.push_back(it->path().filename().string());
    it.increment(error);
  }
  if (error) {
    return file_refusal(codes::kFileUnreadable, "list", directory, error.value());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<Path> PosixFileSystem::read_link(const Path& path) const {
  std::array<char, PATH_MAX> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  if (length < 0) {
    return file_refusal(codes::kFileUnreadable, "read the link", path, errno);
  }
  return Path(std::string(target.data(), static_cast<std::size_t>(length)));
}

Result<std::unique_ptr<MappedFile>> PosixFileSystem::map_read_only(const Path& path) const {
  auto opened = open_regular(path);
  if (!opened.ok()) {
    return opened.refusal();
  }
  const std::size_t bytes = opened->info.bytes;
  ConstByteSpan range;
  if (bytes > 0) {
    // Deviates from vLLM-Omni: files are mapped shared and read-only, not private and writable, so
    // that pages stay shared whatever is done with the mapping.
    void* const start = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, opened->file.number(), 0);
    if (start == MAP_FAILED) {
      return file_refusal(codes::kFileUnreadable, "map", path, errno);
    }
    range = ConstByteSpan(static_cast<const std::byte*>(start), bytes);
  }
  return std::unique_ptr<MappedFile>(
      std::make_unique<PosixMappedFile>(path, std::move(opened->file), opened->info, range));
}

Result<std::string> PosixFileSystem::read_text(const Path& path, std::uint64_t limit_bytes) const {
  const auto opened = open_regular(path);
  if (!opened.ok()) {
    return opened.refusal();
  }
  // A length that already tells is answered without reading; /proc files tell 0.
  if (opened->info.bytes <= limit_bytes) {
    auto text = read_all(opened->file, path, limit_bytes);
    if (!text.ok() || text->size() <= limit_bytes) {
      return text;
    }
  }
  return refuse(codes::kFileUnreadable,
                fmt::format("larger than the limit of {}", format_bytes(limit_bytes)),
                path.string(), "check that this is the file that was meant");
}

Result<std::unique_ptr<WritableFile>> PosixFileSystem::create(const Path& path) {
  ignore_file_size_signal();
  Descriptor file = open_descriptor(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);
  if (!file.open()) {
    return file_refusal(codes::kFileUnwritable, "create", path, errno);
  }
  return std::unique_ptr<WritableFile>(std::make_unique<PosixWritableFile>(path, std::move(file)));
}

Status PosixFileSystem::make_directories(const Path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return file_refusal(codes::kFileUnwritable, "create directory", directory, error.value());
  }
  return {};
}

Status PosixFileSystem::rename(const Path& from, const Path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    return file_refusal(codes::kFileUnwritable, "rename to " + to.string(), from, errno);
  }
  return {};
}

Status PosixFileSystem::remove_file(const Path& path) {
  if (::unlink(path.c_str()) != 0) {
    return file_refusal(codes::kFileUnwritable, "remove", path, errno);
  }
  return {};
}

Status PosixFileSystem::remove_tree(const Path& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) {
    return file_refusal(codes::kFileUnwritable, "remove", path, error.value());
  }
  return {};
}

Status PosixFileSystem::sync_directory(const Path& directory) {
  const Descriptor file = open_descriptor(directory, O_RDONLY | O_DIRECTORY);
  if (!file.open()) {
    return file_refusal(codes::kFileUnwritable, "open directory", directory, errno);
  }
  while (::fsync(file.number()) != 0) {
    if (errno == EINVAL) {
      return {};  // a file system without durable directories
    }
    if (errno != EINTR) {
      return file_refusal(codes::kFileUnwritable, "sync directory", directory, errno);
    }
  }
  return {};
}

Result<std::uint64_t> PosixFileSystem::free_bytes(const Path& path) const {
  struct statvfs space = {};
  if (::statvfs(path.c_str(), &space) != 0) {
    return file_refusal(codes::kFileUnreadable, "ask for the free space", path, errno);
  }
  return std::uint64_t{space.f_bavail} * space.f_frsize;
}

}  // namespace dlo::platform
