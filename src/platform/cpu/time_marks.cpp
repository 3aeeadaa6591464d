#include "platform/cpu/time_marks.h"

#include "base/error.h"

namespace dlo::platform {

TimeMarkId TimeMarks::create() {
  const std::lock_guard lock(mutex_);
  const std::uint32_t number = count_.load();
  require(number < kChunks * kChunkMarks, "too many time marks on one device");
  if (number % kChunkMarks == 0) {
    chunks_.at(number / kChunkMarks) = std::make_unique<Chunk>();
  }
  count_.store(number + 1);
  return TimeMarkId{number};
}

TimeMarks::Mark& TimeMarks::cell(TimeMarkId mark) const {
  require(mark.value < count_.load(), "the time mark was not made by this device");
  return (*chunks_[mark.value / kChunkMarks])[mark.value % kChunkMarks];
}

void TimeMarks::reset(TimeMarkId mark) {
  cell(mark).at.store(kAbsent);
}

void TimeMarks::issued(TimeMarkId mark, StreamPosition place) {
  auto& at = cell(mark);
  at.stream.store(static_cast<std::uint8_t>(place.stream));
  at.position.store(place.position);
}

void TimeMarks::note(TimeMarkId mark, Nanoseconds now) {
  cell(mark).at.store(now);
}

std::optional<Nanoseconds> TimeMarks::reached(const StreamSet& streams, TimeMarkId mark) const {
  const auto& at = cell(mark);
  const StreamPosition place{static_cast<StreamKind>(at.stream.load()), at.position.load()};
  if (place.position == 0 || !streams.completed(place)) {
    return std::nullopt;
  }
  const Nanoseconds noted = at.at.load();
  return noted == kAbsent ? std::nullopt : std::optional(noted);
}

std::optional<Nanoseconds> TimeMarks::elapsed(const StreamSet& streams, TimeMarkId from,
                                              TimeMarkId to) const {
  const auto begin = reached(streams, from);
  const auto end = reached(streams, to);
  return begin && end ? std::optional(*end - *begin) : std::nullopt;
}

}  // namespace dlo::platform
