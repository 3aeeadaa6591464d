// Owns: InlineDevice, a device for tests on one thread: operations run when issued, or wait in a
// queue until run_queued(), which stands for a compute stream that lags behind its host.
// Must not own: concurrency, budgets or pinned memory's cost; platform/cpu is the real thing.
// Every issued operation is kept by label, so tests can assert the order of calls.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "platform/clock.h"
#include "platform/device.h"

namespace dlo::test {

// Stands still unless it is told to sleep.
class StillClock final : public platform::Clock {
 public:
  [[nodiscard]] Nanoseconds now() const override { return now_; }
  void sleep(Nanoseconds duration) override { now_ += duration; }
  [[nodiscard]] std::string wall_time_text() const override { return "1970-01-01T00:00:00Z"; }

 private:
  Nanoseconds now_{};
};

enum class InlineMode : std::uint8_t { kAtOnce, kQueued };

class InlineDevice final : public platform::Device {
 public:
  explicit InlineDevice(InlineMode mode = InlineMode::kAtOnce) : mode_(mode) {}

  // Runs what is queued, oldest first. A task that throws fails the device.
  void run_queued();
  // Labels of the launched tasks, in the order of launch.
  [[nodiscard]] const std::vector<platform::OpLabel>& launched() const { return launched_; }

  [[nodiscard]] std::string_view kind() const override { return "cpu"; }
  [[nodiscard]] platform::Clock& clock() override { return clock_; }
  [[nodiscard]] Result<std::unique_ptr<platform::DeviceBuffer>> allocate_device(
      std::uint64_t bytes, platform::MemoryPurpose purpose) override;
  [[nodiscard]] Result<std::unique_ptr<platform::HostBuffer>> allocate_pinned(
      std::uint64_t bytes, platform::MemoryPurpose purpose) override;
  [[nodiscard]] Result<std::unique_ptr<platform::HostBuffer>> allocate_pageable(
      std::uint64_t bytes, platform::MemoryPurpose purpose) override;
  [[nodiscard]] platform::EventId create_event() override;

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

  [[nodiscard]] bool query(platform::EventId event) const override;
  [[nodiscard]] Status wait_host(platform::EventId event, Deadline deadline,
                                 const platform::OpLabel& label) override;
  [[nodiscard]] Status synchronize(Deadline deadline) override;
  [[nodiscard]] std::optional<Refusal> failure() const override { return failure_; }

  // No books are kept.
  [[nodiscard]] platform::MemoryUse device_memory() const override { return {}; }
  [[nodiscard]] platform::MemoryUse device_memory(platform::MemoryPurpose) const override {
    return {};
  }
  [[nodiscard]] platform::MemoryUse pinned_memory() const override { return {}; }
  [[nodiscard]] platform::MemoryUse pageable_memory() const override { return {}; }

 private:
  void issue(platform::StreamTask task);
  void run(platform::StreamTask& task);

  InlineMode mode_;
  StillClock clock_;
  std::deque<platform::StreamTask> queue_;
  std::vector<platform::OpLabel> launched_;
  std::optional<Refusal> failure_;
  std::uint32_t event_count_ = 0;
};

}  // namespace dlo::test
