// Owns: Timeline, intervals of named operations by process (rank) and lane (stream), and its two
// pictures: ASCII for a terminal, the Chrome trace format for Perfetto.
// Must not own: where the intervals come from (simulator traces, timed events).
// A plain value; not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/deadline.h"

namespace dlo::telemetry {

struct TimelineRow {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  int rank = 0;
  std::string lane;  // "compute", "copy", "comm", "pack"
  std::string name;  // "h2d ring 0 block 3 slot 1"
};

struct Timeline {
  std::vector<TimelineRow> rows;

  // One line a rank and lane, `columns` wide, time left to right over the whole span; the letter of
  // a cell is the block that runs there (0-9, then a-z), '.' where nothing does. Rows of no
  // duration are left out.
  [[nodiscard]] std::string ascii(std::size_t columns) const;

  // Chrome trace event format, JSON object form: "X" events in microseconds, pid = rank, tid =
  // lane; opens in Perfetto (ui.perfetto.dev).
  [[nodiscard]] std::string perfetto_json() const;
};

}  // namespace dlo::telemetry
