#include "platform/posix/descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/codes.h"
#include "base/error.h"

namespace dlo::platform {

namespace {

std::string_view advice(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return "check the path";
    case EACCES:
    case EPERM:
    case EROFS:
      return "check the permissions, or choose another path";
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return "free some space, or choose another path";
    case EMFILE:
    case ENFILE:
      return "raise the limit on open files (ulimit -n)";
    case EEXIST:
      return "remove it, or choose another path";
    default:
      return "check the path and the file system";
  }
}

}  // namespace

Descriptor::~Descriptor() {
  if (open()) {
    ::close(number_);
  }
}

Descriptor::Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  Descriptor old(std::exchange(number_, other.release()));
  return *this;
}

int Descriptor::release() {
  return std::exchange(number_, -1);
}

Descriptor open_descriptor(const Path& path, int flags, unsigned mode) {
  int number = -1;
  do {
    number = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (number < 0 && errno == EINTR);
  return Descriptor(number);
}

Refusal file_refusal(std::string_view code, std::string_view verb, const Path& path,
                     int error_number) {
  const bool missing = error_number == ENOENT || error_number == ENOTDIR;
  return refuse(missing ? codes::kFileNotFound : code,
                fmt::format("cannot {}: {} ({})", verb, errno_name(error_number),
                            std::strerror(error_number)),
                path.string(), std::string(advice(error_number)));
}

}  // namespace dlo::platform
