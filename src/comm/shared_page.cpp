#include "comm/shared_page.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "base/codes.h"

namespace dlo::comm {

namespace {

Refusal page_refusal(const std::string& name, std::string_view call, int error_number) {
  return refuse(codes::kInternal, fmt::format("{} failed: {}", call, errno_name(error_number)),
                "the shared page of the " + name,
                "check that all ranks run as one user in one container");
}

}  // namespace

Result<SharedPage> SharedPage::map(const std::string& name, int descriptor, std::uint64_t bytes) {
  void* const start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (start == MAP_FAILED) {
    const int error_number = errno;
    ::close(descriptor);
    return page_refusal(name, "mmap", error_number);
  }
  return SharedPage(descriptor, ByteSpan(static_cast<std::byte*>(start), bytes));
}

Result<SharedPage> SharedPage::create(const std::string& name, std::uint64_t bytes) {
  const int descriptor = ::memfd_create(("dlo " + name).c_str(), MFD_CLOEXEC);
  if (descriptor < 0) {
    return page_refusal(name, "memfd_create", errno);
  }
  if (::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
    const int error_number = errno;
    ::close(descriptor);
    return page_refusal(name, "ftruncate", error_number);
  }
  return map(name, descriptor, bytes);
}

Result<SharedPage> SharedPage::open(const std::string& name, int pid, int descriptor,
                                    std::uint64_t bytes) {
  const auto path = fmt::format("/proc/{}/fd/{}", pid, descriptor);
  const int opened = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (opened < 0) {
    return page_refusal(name, "open " + path, errno);
  }
  auto page = map(name, opened, bytes);
  if (page.ok()) {
    page->close_descriptor();
  }
  return page;
}

SharedPage::~SharedPage() {
  close_descriptor();
  if (!bytes_.empty()) {
    ::munmap(bytes_.data(), bytes_.size());
  }
}

SharedPage::SharedPage(SharedPage&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), bytes_(std::exchange(other.bytes_, {})) {}

SharedPage& SharedPage::operator=(SharedPage&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void SharedPage::close_descriptor() {
  if (descriptor_ >= 0) {
    ::close(std::exchange(descriptor_, -1));
  }
}

std::string node_identity() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::error_code error;
  const auto pids = std::filesystem::read_symlink("/proc/self/ns/pid", error);
  return boot + "/" + pids.string();
}

}  // namespace dlo::comm
