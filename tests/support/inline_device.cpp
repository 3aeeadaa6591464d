#include "tests/support/inline_device.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "base/codes.h"
#include "base/error.h"

namespace dlo::test {

namespace {

// A page: satisfies every alignment that Device promises.
constexpr std::uint64_t kAlignmentBytes = 4096;

struct FreeDeleter {
  void operator()(std::byte* data) const { std::free(data); }
};

class Memory final : public platform::DeviceBuffer {
 public:
  explicit Memory(std::uint64_t bytes) : bytes_(bytes) {
    if (bytes == 0) {
      return;
    }
    data_.reset(static_cast<std::byte*>(
        std::aligned_alloc(kAlignmentBytes, round_up(bytes, kAlignmentBytes))));
    if (data_ == nullptr) {
      throw std::bad_alloc();
    }
    std::memset(data_.get(), 0, bytes);
  }
  [[nodiscard]] DeviceSpan span() const override { return {data_.get(), bytes_}; }

 private:
  std::uint64_t bytes_;
  std::unique_ptr<std::byte, FreeDeleter> data_;
};

class HostMemory final : public platform::HostBuffer {
 public:
  HostMemory(std::uint64_t bytes, bool pinned) : memory_(bytes), pinned_(pinned) {}
  [[nodiscard]] ByteSpan span() const override {
    return {memory_.span().data, memory_.span().bytes};
  }
  [[nodiscard]] bool pinned() const override { return pinned_; }

 private:
  Memory memory_;
  bool pinned_;
};

}  // namespace

void InlineDevice::run_queued() {
  while (!queue_.empty()) {
    platform::StreamTask task = std::move(queue_.front());
    queue_.pop_front();
    run(task);
  }
}

void InlineDevice::issue(platform::StreamTask task) {
  if (mode_ == InlineMode::kQueued) {
    queue_.push_back(std::move(task));
  } else {
    run(task);
  }
}

void InlineDevice::run(platform::StreamTask& task) {
  if (failure_) {
    return;
  }
  try {
    task();
  } catch (const RunError& error) {
    failure_ = error.refusal();
  } catch (const std::exception& error) {
    failure_ = refuse(codes::kInternal, error.what(), "stream task", "report this as a bug");
  }
}

Result<std::unique_ptr<platform::DeviceBuffer>> InlineDevice::allocate_device(
    std::uint64_t bytes, platform::MemoryPurpose) {
  return std::unique_ptr<platform::DeviceBuffer>(std::make_unique<Memory>(bytes));
}

Result<std::unique_ptr<platform::HostBuffer>> InlineDevice::allocate_pinned(
    std::uint64_t bytes, platform::MemoryPurpose) {
  return std::unique_ptr<platform::HostBuffer>(std::make_unique<HostMemory>(bytes, true));
}

Result<std::unique_ptr<platform::HostBuffer>> InlineDevice::allocate_pageable(
    std::uint64_t bytes, platform::MemoryPurpose) {
  return std::unique_ptr<platform::HostBuffer>(std::make_unique<HostMemory>(bytes, false));
}

platform::EventId InlineDevice::create_event() {
  return {event_count_++};
}

// One queue keeps all streams in order, so events have nothing to add.
void InlineDevice::record(platform::EventId, platform::StreamKind, const platform::OpLabel&) {}
void InlineDevice::wait(platform::StreamKind, platform::EventId, const platform::OpLabel&) {}

void InlineDevice::copy_to_device(platform::StreamKind, DeviceSpan destination,
                                  ConstByteSpan source, const platform::OpLabel&) {
  require(destination.bytes == source.size(), "a copy wants equal sizes");
  issue([destination, source] { std::memcpy(destination.data, source.data(), source.size()); });
}

void InlineDevice::copy_to_host(platform::StreamKind, ByteSpan destination, DeviceSpan source,
                                const platform::OpLabel&) {
  require(destination.size() == source.bytes, "a copy wants equal sizes");
  issue([destination, source] { std::memcpy(destination.data(), source.data, source.bytes); });
}

void InlineDevice::launch(platform::StreamKind, platform::StreamTask task,
                          const platform::OpLabel& label) {
  launched_.push_back(label);
  issue(std::move(task));
}

bool InlineDevice::query(platform::EventId) const {
  return queue_.empty();
}

Status InlineDevice::wait_host(platform::EventId, Deadline deadline, const platform::OpLabel&) {
  return synchronize(deadline);
}

Status InlineDevice::synchronize(Deadline) {
  run_queued();
  return failure_ ? Status(*failure_) : Status();
}

}  // namespace dlo::test
