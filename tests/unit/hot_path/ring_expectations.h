// Owns: what several unit tests of the hot path demand of a RingFixture's log.
// Must not own: the fixture. Failure: GoogleTest's.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/unit/hot_path/ring_fixture.h"

namespace dlo::test {

// Every compute launch follows a ready wait for that block, on a slot whose latest load carried it.
inline void expect_reads_match_loads(const RingFixture& fixture) {
  using platform::Site;
  std::vector<std::pair<std::int32_t, std::int32_t>> content(8, {-1, -1});  // by slot
  std::pair<std::int32_t, std::int32_t> waited{-1, -1};
  for (const auto& op : fixture.device.log()) {
    const std::pair key{op.label.ring, op.label.block};
    if (op.kind == OpKind::kRecord && op.label.site == Site::kReadyRecord) {
      content.at(static_cast<std::size_t>(op.label.slot)) = key;
    } else if (op.label.site == Site::kReadyWait) {
      waited = content.at(static_cast<std::size_t>(op.label.slot));
    } else if (op.kind == OpKind::kLaunch) {
      ASSERT_EQ(waited, key) << "block " << op.label.block << " of ring " << op.label.ring;
    }
  }
}

}  // namespace dlo::test
