#include "tests/unit/hot_path/recording_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/codes.h"

namespace dlo::test {

using platform::MemoryPurpose;
using platform::OpLabel;
using platform::StreamKind;

namespace {

constexpr std::array kKindNames = {"record", "wait", "copy", "launch", "launch host", "gather"};

// Zeroed, 256-byte aligned memory entered in a book while it lives.
class BookedMemory {
 public:
  BookedMemory(std::uint64_t bytes, RecordingDevice::Book book)
      : bytes_(bytes), book_(std::move(book)) {
    if (bytes > 0) {
      data_ =
          static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kTensorAlignmentBytes}));
      std::memset(data_, 0, bytes);
    }
    book_->now_bytes += bytes;
    book_->peak_bytes = std::max(book_->peak_bytes, book_->now_bytes);
  }
  ~BookedMemory() {
    if (data_ != nullptr) {
      ::operator delete (data_, std::align_val_t{kTensorAlignmentBytes});
    }
    book_->now_bytes -= bytes_;
  }
  BookedMemory(const BookedMemory&) = delete;
  BookedMemory& operator=(const BookedMemory&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_;
  RecordingDevice::Book book_;
};

class FakeDeviceBuffer final : public platform::DeviceBuffer {
 public:
  FakeDeviceBuffer(std::uint64_t bytes, RecordingDevice::Book book)
      : memory_(bytes, std::move(book)) {}
  [[nodiscard]] DeviceSpan span() const override { return {memory_.data(), memory_.bytes()}; }

 private:
  BookedMemory memory_;
};

class FakeHostBuffer final : public platform::HostBuffer {
 public:
  FakeHostBuffer(std::uint64_t bytes, RecordingDevice::Book book, bool pinned)
      : memory_(bytes, std::move(book)), pinned_(pinned) {}
  [[nodiscard]] ByteSpan span() const override { return {memory_.data(), memory_.bytes()}; }
  [[nodiscard]] bool pinned() const override { return pinned_; }

 private:
  BookedMemory memory_;
  bool pinned_;
};

}  // namespace

std::string op_text(const OpRecord& op) {
  const auto size = op.bytes > 0 ? fmt::format(" {} B", op.bytes) : std::string();
  return fmt::format("{}: {} {}{}", platform::stream_name(op.stream),
                     kKindNames[static_cast<std::size_t>(op.kind)], platform::label_text(op.label),
                     size);
}

std::vector<std::string> RecordingDevice::texts() const {
  std::vector<std::string> lines;
  for (const auto& op : log_) {
    lines.push_back(op_text(op));
  }
  return lines;
}

bool RecordingDevice::refuse_now() {
  return allocations_left_ > 0 && --allocations_left_ == 0;
}

Result<std::unique_ptr<platform::DeviceBuffer>> RecordingDevice::allocate_device(
    std::uint64_t bytes, MemoryPurpose purpose) {
  if (refuse_now()) {
    return refuse(codes::kDeviceOutOfMemory, "told to refuse", "device", "none");
  }
  auto buffer =
      std::make_unique<FakeDeviceBuffer>(bytes, device_books_[static_cast<std::size_t>(purpose)]);
  handed_out_.push_back(buffer.get());
  return std::unique_ptr<platform::DeviceBuffer>(std::move(buffer));
}

Result<std::unique_ptr<platform::HostBuffer>> RecordingDevice::allocate_pinned(std::uint64_t bytes,
                                                                               MemoryPurpose) {
  if (refuse_now()) {
    return refuse(codes::kPinFailed, "told to refuse", "host", "none");
  }
  auto buffer = std::make_unique<FakeHostBuffer>(bytes, pinned_, true);
  handed_out_.push_back(buffer.get());
  return std::unique_ptr<platform::HostBuffer>(std::move(buffer));
}

Result<std::unique_ptr<platform::HostBuffer>> RecordingDevice::allocate_pageable(
    std::uint64_t bytes, MemoryPurpose) {
  if (refuse_now()) {
    return refuse(codes::kHostOutOfMemory, "told to refuse", "host", "none");
  }
  auto buffer = std::make_unique<FakeHostBuffer>(bytes, pageable_, false);
  handed_out_.push_back(buffer.get());
  return std::unique_ptr<platform::HostBuffer>(std::move(buffer));
}

void RecordingDevice::record(platform::EventId, StreamKind stream, const OpLabel& label) {
  note(OpRecord{OpKind::kRecord, stream, label, 0});
}

void RecordingDevice::wait(StreamKind stream, platform::EventId, const OpLabel& label) {
  note(OpRecord{OpKind::kWait, stream, label, 0});
}

void RecordingDevice::copy_to_device(StreamKind stream, DeviceSpan destination,
                                     ConstByteSpan source, const OpLabel& label) {
  require(destination.bytes == source.size(), "copy sizes differ");
  std::memcpy(destination.data, source.data(), source.size());
  note(OpRecord{OpKind::kCopy, stream, label, source.size()});
}

void RecordingDevice::copy_to_host(StreamKind stream, ByteSpan destination, DeviceSpan source,
                                   const OpLabel& label) {
  require(destination.size() == source.bytes, "copy sizes differ");
  std::memcpy(destination.data(), source.data, source.bytes);
  note(OpRecord{OpKind::kCopy, stream, label, source.bytes});
}

void RecordingDevice::launch(StreamKind stream, platform::StreamTask task, const OpLabel& label) {
  note(OpRecord{OpKind::kLaunch, stream, label, 0});
  task();
}

void RecordingDevice::launch_host(StreamKind stream, platform::StreamTask task,
                                  const OpLabel& label) {
  note(OpRecord{OpKind::kLaunchHost, stream, label, 0});
  if (holds_) {
    held_.push_back(std::move(task));
  } else {
    task();
  }
}

void RecordingDevice::run_held() {
  for (auto& task : held_) {
    task();
  }
  held_.clear();
}

Status RecordingDevice::wait_host(platform::EventId, Deadline, const OpLabel& label) {
  note(OpRecord{OpKind::kWait, StreamKind::kCopy, label, 0});
  return synchronize({});
}

Status RecordingDevice::synchronize(Deadline) {
  if (failure_) {
    return *failure_;
  }
  if (hangs_) {
    return refuse(codes::kDeadlineExceeded, "told to hang", "device", "none");
  }
  return {};
}

platform::MemoryUse RecordingDevice::device_memory() const {
  platform::MemoryUse all;
  for (const auto& book : device_books_) {
    all.now_bytes += book->now_bytes;
    all.peak_bytes += book->peak_bytes;
  }
  return all;
}

platform::MemoryUse RecordingDevice::device_memory(MemoryPurpose purpose) const {
  return *device_books_[static_cast<std::size_t>(purpose)];
}

void RecordingCommunicator::all_gather(platform::Device& device, StreamKind stream,
                                       DeviceSpan input, DeviceSpan output, const OpLabel& label) {
  require(output.bytes == static_cast<std::uint64_t>(size_) * input.bytes,
          "the gather's output is not narrowed to the chunk");
  ++gather_count;
  unprepared_count +=
      std::count(prepared.begin(), prepared.end(), comm::PieceGather{input, output}) == 0 ? 1U : 0U;
  for (int r = 0; r < size_; ++r) {
    const auto at = static_cast<std::uint64_t>(r) * input.bytes;
    std::memcpy(output.data + at, input.data, input.bytes);
  }
  dynamic_cast<RecordingDevice&>(device).note(
      OpRecord{OpKind::kGather, stream, label, output.bytes});
}

}  // namespace dlo::test
