// Owns: TimeMarks, the points in time that a CPU device's streams note while something is measured.
// Must not own: streams, the clock. A mark that is issued holds its place in its stream, as an
// event does, so that a note of an earlier use is never taken for that of a later one.
// Threading: made and issued by the launching thread; noted by stream threads, which may outlive
// the device (hence shared); elapsed() from any thread. Issuing allocates nothing.
// Failure: none; a note that a failed device skipped stays absent.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>

#include "base/deadline.h"
#include "platform/cpu/stream_set.h"

namespace dlo::platform {

class TimeMarks {
 public:
  [[nodiscard]] TimeMarkId create();

  // Forgets the note of an earlier use. Then the note's task is issued, and its place is told.
  void reset(TimeMarkId mark);
  void issued(TimeMarkId mark, StreamPosition place);
  void note(TimeMarkId mark, Nanoseconds now);

  // None until the streams have passed both.
  [[nodiscard]] std::optional<Nanoseconds> elapsed(const StreamSet& streams, TimeMarkId from,
                                                   TimeMarkId to) const;

 private:
  static constexpr Nanoseconds kAbsent = std::numeric_limits<Nanoseconds>::min();
  static constexpr std::uint32_t kChunkMarks = 256;
  static constexpr std::uint32_t kChunks = 256;

  struct Mark {
    std::atomic<Nanoseconds> at{kAbsent};
    std::atomic<std::uint8_t> stream{0};
    std::atomic<std::uint64_t> position{0};
  };
  using Chunk = std::array<Mark, kChunkMarks>;

  [[nodiscard]] Mark& cell(TimeMarkId mark) const;
  [[nodiscard]] std::optional<Nanoseconds> reached(const StreamSet& streams, TimeMarkId mark) const;

  std::mutex mutex_;
  std::atomic<std::uint32_t> count_{0};
  std::array<std::unique_ptr<Chunk>, kChunks> chunks_;  // in place: streams note meanwhile
};

}  // namespace dlo::platform
