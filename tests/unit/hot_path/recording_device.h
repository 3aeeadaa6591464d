// Owns: RecordingDevice and RecordingCommunicator, fakes for tests on one thread: operations run
// when they are issued, and each is written down with its stream, event and label.
// Must not own: concurrency; the CPU platform has it. The log is preallocated: recording never
// allocates, so that allocations of the code under test can be counted.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "platform/clock.h"
#include "platform/device.h"

namespace dlo::test {

enum class OpKind : std::uint8_t { kRecord, kWait, kCopy, kLaunch, kLaunchHost, kGather };

struct OpRecord {
  OpKind kind = OpKind::kRecord;
  platform::StreamKind stream = platform::StreamKind::kCompute;
  platform::OpLabel label;
  std::uint64_t bytes = 0;  // of copies (whole) and gathers (output)

  friend bool operator==(const OpRecord&, const OpRecord&) = default;
};

// "copy: wait free_wait ring 0 block 1 slot 0", "copy: copy h2d ... 512 B".
[[nodiscard]] std::string op_text(const OpRecord& op);

class TickingClock final : public platform::Clock {
 public:
  [[nodiscard]] Nanoseconds now() const override { return now_; }
  void sleep(Nanoseconds duration) override { now_ += duration; }
  [[nodiscard]] std::string wall_time_text() const override { return "1970-01-01T00:00:00Z"; }

 private:
  Nanoseconds now_ = 0;
};

class RecordingDevice final : public platform::Device {
 public:
  RecordingDevice() { log_.reserve(1U << 16U); }

  [[nodiscard]] const std::vector<OpRecord>& log() const { return log_; }
  [[nodiscard]] std::vector<std::string> texts() const;
  void clear() { log_.clear(); }
  void note(const OpRecord& op) { log_.push_back(op); }

  // From now on failure() and host waits report `refusal`.
  void fail(const Refusal& refusal) { failure_ = refusal; }
  // The n-th allocation from now on (1 = next) is refused with the code of its kind.
  void refuse_allocation(std::uint32_t nth) { allocations_left_ = nth; }
  // Events never complete.
  void hang() { hangs_ = true; }
  // From now on host functions are kept back, although their stream says it is done, until
  // run_held() runs them in their order on the calling thread.
  void hold_host_functions() { holds_ = true; }
  void run_held();

  [[nodiscard]] std::string_view kind() const override { return "recording"; }
  [[nodiscard]] platform::Clock& clock() override { return clock_; }
  [[nodiscard]] Result<std::unique_ptr<platform::DeviceBuffer>> allocate_device(
      std::uint64_t bytes, platform::MemoryPurpose purpose) override;
  [[nodiscard]] Result<std::unique_ptr<platform::HostBuffer>> allocate_pinned(
      std::uint64_t bytes, platform::MemoryPurpose purpose) override;
  [[nodiscard]] Result<std::unique_ptr<platform::HostBuffer>> allocate_pageable(
      std::uint64_t bytes, platform::MemoryPurpose purpose) override;
  [[nodiscard]] platform::EventId create_event() override { return platform::EventId{events_++}; }

  void record(platform::EventId event, platform::StreamKind stream,
              const platform::OpLabel& label) override;
  void wait(platform::StreamKind stream, platform::EventId event,
            const platform::OpLabel& label) override;
  void copy_to_device(platform::StreamKind stream, DeviceSpan destination, ConstByteSpan source,
                      const platform::OpLabel& label) override;
  void copy_to_host(platform::StreamKind stream, ByteSpan destination, DeviceSpan source,
                    const platform::OpLabel& label) override;
  void launch(platform::StreamKind stream, platform::StreamTask task,
              const platform::OpLabel& label) override;
  void launch_host(platform::StreamKind stream, platform::StreamTask task,
                   const platform::OpLabel& label) override;

  [[nodiscard]] bool query(platform::EventId) const override { return !hangs_; }
  [[nodiscard]] Status wait_host(platform::EventId event, Deadline deadline,
                                 const platform::OpLabel& label) override;
  [[nodiscard]] Status synchronize(Deadline deadline) override;
  [[nodiscard]] std::optional<Refusal> failure() const override { return failure_; }

  [[nodiscard]] platform::MemoryUse device_memory() const override;
  [[nodiscard]] platform::MemoryUse device_memory(platform::MemoryPurpose purpose) const override;
  [[nodiscard]] platform::MemoryUse pinned_memory() const override { return *pinned_; }
  [[nodiscard]] platform::MemoryUse pageable_memory() const override { return *pageable_; }

  // Use of one book; shared with the buffers, which may outlive the device.
  using Book = std::shared_ptr<platform::MemoryUse>;

 private:
  [[nodiscard]] bool refuse_now();

  // Every buffer ever handed out: a leak checker then sees who gave up one on purpose.
  std::vector<const void*> handed_out_;
  TickingClock clock_;
  std::vector<OpRecord> log_;
  std::optional<Refusal> failure_;
  std::uint32_t events_ = 0;
  std::uint32_t allocations_left_ = 0;
  bool hangs_ = false;
  bool holds_ = false;
  std::vector<platform::StreamTask> held_;
  std::array<Book, 7> device_books_ = {
      std::make_shared<platform::MemoryUse>(), std::make_shared<platform::MemoryUse>(),
      std::make_shared<platform::MemoryUse>(), std::make_shared<platform::MemoryUse>(),
      std::make_shared<platform::MemoryUse>(), std::make_shared<platform::MemoryUse>(),
      std::make_shared<platform::MemoryUse>()};
  Book pinned_ = std::make_shared<platform::MemoryUse>();
  Book pageable_ = std::make_shared<platform::MemoryUse>();
};

// A group of `size` ranks seen from `rank`; the other ranks contribute this rank's bytes.
class RecordingCommunicator final : public comm::Communicator {
 public:
  RecordingCommunicator(int rank, int size) : rank_(rank), size_(size) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  void all_gather(platform::Device& device, platform::StreamKind stream, DeviceSpan input,
                  DeviceSpan output, const platform::OpLabel& label) override;
  [[nodiscard]] Status prepare_gathers(const std::vector<comm::PieceGather>& gathers) override {
    prepared.insert(prepared.end(), gathers.begin(), gathers.end());
    return {};
  }
  void abort() noexcept override {}

  std::vector<comm::PieceGather> prepared;
  std::uint64_t gather_count = 0;
  std::uint64_t unprepared_count = 0;  // of these, those that nobody had announced

 private:
  int rank_;
  int size_;
};

}  // namespace dlo::test
