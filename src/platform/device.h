// Owns: Device, the seam to an accelerator: four streams, preallocated events, memory, copies and
// enqueued compute. Implemented by cpu/ (real threads), sim/ (virtual time), cuda/.
// Must not own: weights, slots or schedules (hot_path, backend), collectives (comm).
// Threading: issued by one launching thread a device. Issuing never blocks for the operation's
// completion and, after the set-up calls, never allocates.
// Failure: an operation that fails makes the device fail for good (as a sticky CUDA error):
// operations behind it are skipped, events behind it complete, and failure() and every host wait
// report the first refusal.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/deadline.h"
#include "base/inline_function.h"
#include "base/result.h"
#include "base/tensor_view.h"
#include "platform/op_label.h"

namespace dlo::platform {

class Clock;

enum class StreamKind : std::uint8_t {
  kCompute,
  kCopy,
  kComm,
  kPack,  // host work in stream order: launch_host() alone
};
inline constexpr std::size_t kStreamCount = 4;
inline constexpr std::array kAllStreams{StreamKind::kCompute, StreamKind::kCopy, StreamKind::kComm,
                                        StreamKind::kPack};

[[nodiscard]] std::string_view stream_name(StreamKind stream);  // "compute", "copy", "comm", "pack"

struct EventId {
  std::uint32_t value = 0;
  friend bool operator==(const EventId&, const EventId&) = default;
};

// Work for a stream. 192 bytes hold every capture of the hot path and a pointer-sized model state.
using StreamTask = InlineFunction<192>;

// Who asked for memory; ledgers and budgets are kept by purpose.
enum class MemoryPurpose : std::uint8_t {
  kSlot,       // output slots
  kInputSlot,  // AllGather input slots
  kResident,   // resident blocks
  kNonBlock,   // non-block children
  kComponent,  // components beside the DiTs: an encoder
  kHostShard,  // a rank's copy or shard of the streamed blocks
  kStaging,    // bounded host staging
  kOther,
};

[[nodiscard]] std::string_view memory_purpose_name(MemoryPurpose purpose);

// A stream as the accelerator's own runtime knows it, for libraries that enqueue on it: torch in
// model/, NCCL in comm/.
struct NativeStream {
  int ordinal = -1;        // of the accelerator; -1: this platform has no native streams
  void* handle = nullptr;  // cudaStream_t

  [[nodiscard]] bool present() const { return ordinal >= 0; }
};

// A point in a stream's time, for measurements.
struct TimeMarkId {
  std::uint32_t value = 0;
};

// Owned memory; released by its destructor, which never throws. Zero bytes are allowed: data() is
// then null.
class DeviceBuffer {
 public:
  virtual ~DeviceBuffer() = default;
  [[nodiscard]] virtual DeviceSpan span() const = 0;
};

class HostBuffer {
 public:
  virtual ~HostBuffer() = default;
  [[nodiscard]] virtual ByteSpan span() const = 0;
  [[nodiscard]] virtual bool pinned() const = 0;
};

struct MemoryUse {
  std::uint64_t now_bytes = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t now_count = 0;  // buffers that are alive
};

// Stream order: operations of one stream run in the order they were issued; operations of
// different streams are ordered by record/wait pairs alone. wait(s, e) orders what follows on s
// behind the *latest record of e that was issued before the wait*; a wait on an event that was
// never recorded does nothing (as cudaStreamWaitEvent).
class Device {
 public:
  virtual ~Device() = default;

  [[nodiscard]] virtual std::string_view kind() const = 0;  // "cpu", "sim", "cuda"
  [[nodiscard]] virtual Clock& clock() = 0;

  // --- set-up: may allocate, may be refused -------------------------------------------------
  // 256-byte aligned, zeroed. Codes: device_out_of_memory.
  [[nodiscard]] virtual Result<std::unique_ptr<DeviceBuffer>> allocate_device(
      std::uint64_t bytes, MemoryPurpose purpose) = 0;
  // Page-locked, exact size, page aligned, zeroed. Codes: pin_failed.
  [[nodiscard]] virtual Result<std::unique_ptr<HostBuffer>> allocate_pinned(
      std::uint64_t bytes, MemoryPurpose purpose) = 0;
  // Ordinary memory, page aligned, zeroed. Codes: host_out_of_memory.
  [[nodiscard]] virtual Result<std::unique_ptr<HostBuffer>> allocate_pageable(
      std::uint64_t bytes, MemoryPurpose purpose) = 0;
  // Events live as long as the device. One that cannot be made is thrown as RunError.
  [[nodiscard]] virtual EventId create_event() = 0;

  // --- stream operations --------------------------------------------------------------------
  virtual void record(EventId event, StreamKind stream, const OpLabel& label) = 0;
  virtual void wait(StreamKind stream, EventId event, const OpLabel& label) = 0;
  // Sizes must be equal. `source` stays valid until an event behind the copy has completed.
  virtual void copy_to_device(StreamKind stream, DeviceSpan destination, ConstByteSpan source,
                              const OpLabel& label) = 0;
  virtual void copy_to_host(StreamKind stream, ByteSpan destination, DeviceSpan source,
                            const OpLabel& label) = 0;
  // Runs `task` as an operation of `stream`: on that stream's thread (cpu), when the schedule
  // reaches it (sim), at once (cuda: whoever enqueues there chooses native_stream(), as
  // model/torch_session does once for a thread). An exception of the task fails the device with its
  // code.
  virtual void launch(StreamKind stream, StreamTask task, const OpLabel& label) = 0;

  // Runs `task` on a host thread as an operation of `stream`, also where launch() runs it at once;
  // it must call nothing of the accelerator's runtime. On cpu and sim this is launch().
  virtual void launch_host(StreamKind stream, StreamTask task, const OpLabel& label) {
    launch(stream, std::move(task), label);
  }
  // Absent on cpu and sim.
  [[nodiscard]] virtual NativeStream native_stream(StreamKind /*stream*/) const { return {}; }

  // --- timing: a pool of its own, used while measuring only -----------------------------------
  // Set-up; marks live as long as the device.
  [[nodiscard]] virtual TimeMarkId create_time_mark() { return {}; }
  // Notes the device's time when `stream` gets here; a later call replaces the note.
  virtual void mark_time(TimeMarkId /*mark*/, StreamKind /*stream*/) {}
  // From `from` to `to`, negative when `to` came first; none until both were reached, and on a
  // platform that keeps no time (sim: its trace has all of it).
  [[nodiscard]] virtual std::optional<Nanoseconds> elapsed(TimeMarkId /*from*/,
                                                           TimeMarkId /*to*/) const {
    return std::nullopt;
  }

  // --- host side ----------------------------------------------------------------------------
  // True when the latest record of `event` has completed, or there was none.
  [[nodiscard]] virtual bool query(EventId event) const = 0;
  // Waits until query(event). Ends early with the device's or a peer's failure, or
  // deadline_exceeded.
  [[nodiscard]] virtual Status wait_host(EventId event, Deadline deadline,
                                         const OpLabel& label) = 0;
  // Waits until everything issued so far on every stream has completed.
  [[nodiscard]] virtual Status synchronize(Deadline deadline) = 0;
  // First refusal of a failed operation, if any. Cheap.
  [[nodiscard]] virtual std::optional<Refusal> failure() const = 0;

  // --- books --------------------------------------------------------------------------------
  [[nodiscard]] virtual MemoryUse device_memory() const = 0;
  [[nodiscard]] virtual MemoryUse device_memory(MemoryPurpose purpose) const = 0;
  [[nodiscard]] virtual MemoryUse pinned_memory() const = 0;
  [[nodiscard]] virtual MemoryUse pageable_memory() const = 0;
};

}  // namespace dlo::platform
