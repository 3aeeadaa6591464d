// Goal: tensors are cut into shard files as diffusers cuts them. Method: small lists of sizes.
#include "host_weights/seeded_checkpoint/shard_plan.h"

#include <gtest/gtest.h>

namespace dlo::host_weights {
namespace {

using Members = std::vector<std::vector<std::size_t>>;

Members members(const std::vector<std::uint64_t>& sizes, std::uint64_t limit) {
  Members all;
  for (const auto& shard : plan_shards(sizes, limit)) {
    all.push_back(shard.tensors);
  }
  return all;
}

TEST(ShardPlan, EverythingFits_IsOneFileWithoutNumber) {
  const auto shards = plan_shards({10, 20}, 30);
  ASSERT_EQ(shards.size(), 1U);
  EXPECT_EQ(shards[0].file_name, "diffusion_pytorch_model.safetensors");
  EXPECT_EQ(shards[0].tensor_bytes, 30U);
}

TEST(ShardPlan, TensorThatWouldPassTheLimit_OpensTheNextFile) {
  EXPECT_EQ(members({10, 20, 1, 29}, 30), (Members{{0, 1}, {2, 3}}));
  EXPECT_EQ(members({10, 21, 10}, 30), (Members{{0}, {1}, {2}}));
}

TEST(ShardPlan, TensorAboveTheLimit_HasItsOwnFile) {
  EXPECT_EQ(members({1, 100, 1, 1}, 30), (Members{{0}, {1}, {2, 3}}));
}

TEST(ShardPlan, SeveralFiles_AreNumberedFromOneWithTheirCount) {
  const auto shards = plan_shards({30, 30, 30}, 30);
  ASSERT_EQ(shards.size(), 3U);
  EXPECT_EQ(shards[0].file_name, "diffusion_pytorch_model-00001-of-00003.safetensors");
  EXPECT_EQ(shards[2].file_name, "diffusion_pytorch_model-00003-of-00003.safetensors");
}

}  // namespace
}  // namespace dlo::host_weights
