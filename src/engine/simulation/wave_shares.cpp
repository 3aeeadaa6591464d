#include "engine/simulation/wave_shares.h"

#include <algorithm>

#include "base/error.h"

namespace dlo::engine {

using platform::StreamKind;
using platform::sim::SimTraceRow;

namespace {

// The parts of one stream's operations inside a window, in order. A stream runs one at a time.
std::vector<Window> intervals(const std::vector<SimTraceRow>& trace, StreamKind stream,
                              const Window& window) {
  std::vector<Window> parts;
  for (const auto& row : trace) {
    const Window part{std::max(row.begin, window.begin), std::min(row.end, window.end)};
    if (row.stream == stream && part.begin < part.end) {
      parts.push_back(part);
    }
  }
  std::sort(parts.begin(), parts.end(),
            [](const Window& a, const Window& b) { return a.begin < b.begin; });
  return parts;
}

// Asks ascending times only.
class Cursor {
 public:
  explicit Cursor(const std::vector<Window>& parts) : parts_(parts) {}
  bool covers(Nanoseconds at) {
    while (next_ < parts_.size() && parts_[next_].end <= at) {
      ++next_;
    }
    return next_ < parts_.size() && parts_[next_].begin <= at;
  }

 private:
  const std::vector<Window>& parts_;
  std::size_t next_ = 0;
};

}  // namespace

Nanoseconds busy_time(const std::vector<SimTraceRow>& trace, StreamKind stream,
                      const Window& window) {
  Nanoseconds busy = 0;
  for (const auto& part : intervals(trace, stream, window)) {
    busy += part.end - part.begin;
  }
  return busy;
}

WaveCut cut_wave(const std::vector<SimTraceRow>& trace, StreamKind first, const Window& window) {
  require(window.begin <= window.end, "a window ends before it begins");
  const auto compute = intervals(trace, StreamKind::kCompute, window);
  const auto copy = intervals(trace, StreamKind::kCopy, window);
  const auto comm = intervals(trace, StreamKind::kComm, window);
  std::vector<Nanoseconds> points = {window.begin, window.end};
  for (const auto* parts : {&compute, &copy, &comm}) {
    for (const auto& part : *parts) {
      points.push_back(part.begin);
      points.push_back(part.end);
    }
  }
  std::sort(points.begin(), points.end());
  Cursor computes(compute);
  Cursor copies(copy);
  Cursor gathers(comm);
  WaveCut cut;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const Nanoseconds length = points[i + 1] - points[i];
    const bool copying = copies.covers(points[i]);
    const bool gathering = gathers.covers(points[i]);
    if (computes.covers(points[i])) {
      cut.compute += length;
    } else if (copying && (first == StreamKind::kCopy || !gathering)) {
      cut.copy += length;
    } else if (gathering) {
      cut.comm += length;
    } else {
      cut.nothing += length;
    }
  }
  return cut;
}

}  // namespace dlo::engine
