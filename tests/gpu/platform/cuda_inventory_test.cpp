// Goal: which device a rank gets, and what is said when there is none. Needs no GPU but for the
// facts of one.
#include "platform/cuda/cuda_inventory.h"

#include <gtest/gtest.h>

#include "base/codes.h"

namespace dlo::platform {
namespace {

TEST(CudaInventory, RanksOfANode_GetOneDeviceEach) {
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(*choose_cuda_device(rank, 4, 4, false), rank);
  }
  EXPECT_EQ(*choose_cuda_device(1, 2, 8, false), 1);
}

TEST(CudaInventory, MoreRanksThanDevices_IsRefusedUnlessTheyMayShare) {
  const auto refused = choose_cuda_device(1, 4, 2, false);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.refusal().code, codes::kAcceleratorMissing);
  EXPECT_NE(refused.refusal().message().find("4 ranks"), std::string::npos);
  EXPECT_EQ(*choose_cuda_device(3, 4, 2, true), 1);
}

TEST(CudaInventory, NoDevice_IsRefusedAlsoForThoseWhoShare) {
  for (const bool share : {false, true}) {
    const auto refused = choose_cuda_device(0, 1, 0, share);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.refusal().code, codes::kAcceleratorMissing);
  }
}

TEST(CudaInventory, UnknownOrdinal_IsRefused) {
  EXPECT_FALSE(cuda_device_facts(cuda_device_count()).ok());
  EXPECT_FALSE(cuda_device_facts(-1).ok());
}

TEST(CudaInventory, EveryDevice_HasNameMemoryAndBusId) {
  for (int ordinal = 0; ordinal < cuda_device_count(); ++ordinal) {
    const auto facts = cuda_device_facts(ordinal);
    ASSERT_TRUE(facts.ok());
    EXPECT_FALSE(facts->name.empty());
    EXPECT_GT(facts->hbm_bytes, 0U);
    EXPECT_NE(facts->pci_bus_id.find(':'), std::string::npos);
  }
}

}  // namespace
}  // namespace dlo::platform
