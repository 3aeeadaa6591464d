// Goal: every seam call that a run makes, failing on every rank, ends in the right bytes or in one
// named error on every rank that did not finish, with everything released.
// Method: the fail-the-n-th loop over small cases that reach every transfer, then random faults.
#include "engine/simulation/fault_loop.h"

#include <gtest/gtest.h>

namespace dlo::engine {
namespace {

SimulatedCase small_case(bool use_allgather, bool pinned) {
  SimulatedCase simulated;
  simulated.ring_blocks = {3};
  simulated.ranks = use_allgather ? 2 : 1;
  simulated.use_allgather = use_allgather;
  simulated.pin_cpu_memory = pinned;
  simulated.chunk_bytes = use_allgather ? 512 : 0;
  simulated.walks_per_request = 1;
  return simulated;
}

void expect_clean(const FaultSummary& summary) {
  EXPECT_TRUE(summary.clean()) << summary.hung << " hung, " << summary.different_bytes
                               << " with different bytes, " << summary.leaked << " leaked, "
                               << summary.otherwise_wrong << " otherwise wrong";
  for (const auto& problem : summary.first_problems) {
    ADD_FAILURE() << problem;
  }
}

TEST(FaultLoop, RankLocalEveryCallFails_EndsByNameWithEverythingReleased) {
  const auto summary = fail_every_call(small_case(false, true), 1);
  expect_clean(summary);
  EXPECT_GT(summary.ended_by_name, 20U);
  EXPECT_GT(summary.injected_by_call.at("allocate_pinned"), 0U);
}

TEST(FaultLoop, PageableEveryCallFails_EndsByName) {
  const auto summary = fail_every_call(small_case(false, false), 2);
  expect_clean(summary);
  EXPECT_GT(summary.injected_by_call.at("allocate_pageable"), 0U);
}

TEST(FaultLoop, AllGatherEveryCallFails_EveryRankEndsByTheSameName) {
  const auto summary = fail_every_call(small_case(true, true), 3);
  expect_clean(summary);
  for (const char* call : {"gather", "exchange", "make_communicator", "make_control_group",
                           "record", "wait", "copy_to_device", "launch", "allocate_device"}) {
    EXPECT_GT(summary.injected_by_call.at(call), 0U) << call << " was never reached";
  }
}

TEST(FaultLoop, RandomFaultsOverDrawnCases_NothingHangsLeaksOrDiffers) {
  const auto summary = fail_at_random(1, 300);
  expect_clean(summary);
  EXPECT_GT(summary.injected, 100U);
  EXPECT_GT(summary.survived + summary.ended_by_name, 100U);
}

}  // namespace
}  // namespace dlo::engine
