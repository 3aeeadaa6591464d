// Goal: slots are handed out by vacancy, never under a reader, and stamped anew for every load.
// Method: SlotPool alone on a recording device.
#include "hot_path/slot_pool.h"

#include <gtest/gtest.h>

#include "base/codes.h"
#include "base/error.h"
#include "tests/unit/hot_path/recording_device.h"

namespace dlo::hot_path {
namespace {

class PoolOfThree : public testing::Test {
 protected:
  test::RecordingDevice device_;
  SlotPool pool_{device_, std::vector<DeviceSpan>(3)};
};

std::string code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const RunError& error) {
    return error.code();
  }
  return "none";
}

TEST_F(PoolOfThree, NewPool_SlotsAreVacantAndNeverLoaded) {
  for (SlotIndex s = 0; s < pool_.count(); ++s) {
    EXPECT_EQ(pool_.state(s), SlotState::kVacant);
    EXPECT_EQ(pool_.stamp(s).generation, 0U);
  }
}

TEST_F(PoolOfThree, EventsOfAllSlots_AreDistinct) {
  std::vector<std::uint32_t> events;
  for (SlotIndex s = 0; s < pool_.count(); ++s) {
    events.push_back(pool_.ready(s).value);
    events.push_back(pool_.free(s).value);
  }
  std::sort(events.begin(), events.end());
  EXPECT_EQ(std::unique(events.begin(), events.end()), events.end());
}

TEST_F(PoolOfThree, Choose_TakesTheSlotVacantForLongest) {
  for (std::uint32_t b = 0; b < 3; ++b) {
    pool_.claim(pool_.choose(0), 0, 0, b);
  }
  pool_.activate(1);
  pool_.vacate(1);
  pool_.activate(0);
  pool_.vacate(0);
  EXPECT_EQ(pool_.choose(0), 1U);
}

TEST_F(PoolOfThree, Choose_PrefersVacantOverAnotherChainsHeldSlot) {
  pool_.claim(0, 0, 0, 0);
  pool_.claim(1, 0, 0, 1);
  EXPECT_EQ(pool_.choose(1), 2U);
  pool_.claim(2, 1, 1, 0);
  EXPECT_EQ(pool_.choose(1), 0U) << "the longest held slot of chain 0";
}

TEST_F(PoolOfThree, Choose_NothingLeft_IsStaleSlot) {
  for (std::uint32_t b = 0; b < 3; ++b) {
    pool_.claim(b, 0, 0, b);
  }
  EXPECT_EQ(code_of([&] { static_cast<void>(pool_.choose(0)); }), codes::kStaleSlot);
}

TEST_F(PoolOfThree, Claim_ActiveSlot_IsStaleSlot) {
  pool_.claim(0, 0, 0, 0);
  pool_.activate(0);
  EXPECT_EQ(code_of([&] { pool_.claim(0, 1, 1, 0); }), codes::kStaleSlot);
}

TEST_F(PoolOfThree, Claim_SlotHeldByTheSameChain_IsStaleSlot) {
  pool_.claim(0, 0, 0, 0);
  EXPECT_EQ(code_of([&] { pool_.claim(0, 0, 0, 1); }), codes::kStaleSlot);
  EXPECT_EQ(code_of([&] { pool_.claim(0, 0, 1, 0); }), codes::kStaleSlot) << "whatever its ring";
  EXPECT_EQ(pool_.stamp(0).block, 0U) << "a refused claim leaves the stamp";
}

TEST_F(PoolOfThree, Claim_SameBlockAgain_GetsANewGeneration) {
  const auto first = pool_.claim(0, 0, 0, 5);
  pool_.vacate(0);
  EXPECT_NE(pool_.claim(0, 0, 0, 5), first);
}

TEST_F(PoolOfThree, Activate_VacantSlot_IsALogicError) {
  EXPECT_THROW(pool_.activate(0), LogicError);
}

}  // namespace
}  // namespace dlo::hot_path
