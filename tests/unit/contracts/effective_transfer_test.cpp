// Goal: names that reports print are stable.
// Method: each value against its name.
#include "contracts/effective_transfer.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace dlo::contracts {
namespace {

TEST(EffectiveTransfer, EachTransfer_HasItsName) {
  EXPECT_EQ(transfer_name(Transfer::kResident), "resident");
  EXPECT_EQ(transfer_name(Transfer::kRankLocal), "rank_local");
  EXPECT_EQ(transfer_name(Transfer::kStaged), "staged");
  EXPECT_EQ(transfer_name(Transfer::kAllGather), "all_gather");
  EXPECT_EQ(backing_name(Backing::kOrdinary), "ordinary");
  EXPECT_EQ(backing_name(Backing::kCheckpointMmap), "checkpoint_mmap");
}

TEST(EffectiveTransfer, ValueOutsideTheEnum_Throws) {
  EXPECT_THROW(static_cast<void>(transfer_name(static_cast<Transfer>(99))), LogicError);
  EXPECT_THROW(static_cast<void>(backing_name(static_cast<Backing>(99))), LogicError);
}

}  // namespace
}  // namespace dlo::contracts
