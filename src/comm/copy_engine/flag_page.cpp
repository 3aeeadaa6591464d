#include "comm/copy_engine/flag_page.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/codes.h"
#include "platform/cuda/cuda_error.h"

namespace dlo::comm {

namespace {

constexpr std::size_t kRowBytes = 128;  // no two ranks' flags in one line of a cache
constexpr std::size_t kFlagBytes = 64;

std::uint64_t page_bytes(int size) {
  const auto ranks = static_cast<std::uint64_t>(size);
  return round_up(ranks * ranks * kRowBytes, 4096);
}

constexpr const char* kName = "copy-engine gather";

Result<SharedPage> open_first(const std::string& place, std::uint64_t bytes) {
  const auto space = place.find(' ');
  return SharedPage::open(kName, std::atoi(place.c_str()), std::atoi(place.c_str() + space + 1),
                          bytes);
}

}  // namespace

Result<FlagPage> FlagPage::share(ControlGroup& group, Deadline deadline) {
  const std::uint64_t bytes = page_bytes(group.size());
  std::optional<Result<SharedPage>> page;
  std::string mine;
  if (group.rank() == 0) {
    page.emplace(SharedPage::create(kName, bytes));
    mine = page->ok() ? fmt::format("{} {}", ::getpid(), (*page)->descriptor()) : "0 -1";
  }
  auto places = group.exchange("flag page", mine, deadline);
  if (!places.ok()) {
    return places.refusal();
  }
  if (!page) {
    page.emplace(open_first(places->front(), bytes));
  }
  Status status = page->ok() ? Status{} : Status(page->refusal());
  std::optional<FlagPage> flags;
  if (status.ok()) {
    flags.emplace(FlagPage(std::move(*page).value(), group.size()));
    status = flags->pin();
  }
  // Behind this vote nobody opens a page any more.
  if (auto agreed = vote(group, "flag page", status, deadline); !agreed.ok()) {
    return agreed.refusal();
  }
  flags->page_->close_descriptor();
  return std::move(*flags);
}

FlagPage::FlagPage(FlagPage&& other) noexcept
    : page_(std::exchange(other.page_, std::nullopt)),
      size_(other.size_),
      device_address_(std::exchange(other.device_address_, 0)) {}

FlagPage::~FlagPage() {
  if (device_address_ != 0 && cudaHostUnregister(page_->bytes().data()) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
  }
}

Status FlagPage::pin() {
  void* const host = page_->bytes().data();
  void* device = nullptr;
  auto status = cudaHostRegister(host, page_->bytes().size(),
                                 cudaHostRegisterMapped | cudaHostRegisterPortable);
  if (status == cudaSuccess) {
    status = cudaHostGetDevicePointer(&device, host, 0);
    if (status != cudaSuccess) {
      static_cast<void>(cudaHostUnregister(host));
    }
  }
  if (status != cudaSuccess) {
    return refuse(codes::kCudaFailed,
                  "the flag page cannot be pinned: " + platform::cuda_error_text(status), kName,
                  "use platform.gather nccl");
  }
  device_address_ = reinterpret_cast<CUdeviceptr>(device);
  return {};
}

std::size_t FlagPage::offset(int to, int from, Flag flag) const {
  const auto row = static_cast<std::size_t>(to) * static_cast<std::size_t>(size_) +
                   static_cast<std::size_t>(from);
  return row * kRowBytes + (flag == Flag::kTaken ? kFlagBytes : 0);
}

CUdeviceptr FlagPage::address(int to, int from, Flag flag) const {
  return device_address_ + offset(to, from, flag);
}

void FlagPage::release(int to, std::uint32_t value) noexcept {
  for (int from = 0; from < size_; ++from) {
    for (const auto flag : {Flag::kLanded, Flag::kTaken}) {
      auto* const word =
          reinterpret_cast<std::uint32_t*>(page_->bytes().data() + offset(to, from, flag));
      std::atomic_ref<std::uint32_t>(*word).store(value);
    }
  }
}

}  // namespace dlo::comm
