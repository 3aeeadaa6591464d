// Goal: sizes that follow from others are exact and never overflow.
// Method: each derived size on small topologies and on extreme numbers.
#include "config/parallel_config.h"

#include <gtest/gtest.h>

#include <limits>

namespace dlo::config {
namespace {

constexpr auto kHuge = std::numeric_limits<std::int64_t>::max();

TEST(SequenceSize, Unset_FollowsFromDegrees) {
  ParallelConfig parallel;
  parallel.ulysses_degree = 2;
  parallel.ring_degree = 3;
  EXPECT_EQ(sequence_size(parallel), 6);
  parallel.allgather_degree = 4;
  EXPECT_EQ(sequence_size(parallel), 4);
  parallel.sequence_parallel_size = 5;
  EXPECT_EQ(sequence_size(parallel), 5);
  EXPECT_EQ(sequence_size_from_degrees(parallel), 4);
}

TEST(WorldSize, EveryDimension_IsAFactorButTheVae) {
  ParallelConfig parallel;
  parallel.data_parallel_size = 2;
  parallel.tensor_parallel_size = 3;
  parallel.ulysses_degree = 5;
  parallel.pipeline_parallel_size = 7;
  parallel.cfg_parallel_size = 2;
  parallel.vae_patch_parallel_size = 11;
  EXPECT_EQ(world_size(parallel), 2 * 3 * 5 * 7 * 2);
}

TEST(WorldSize, HsdpAlone_IsShardTimesReplicate) {
  ParallelConfig parallel;
  parallel.use_hsdp = true;
  parallel.hsdp_shard_size = 4;
  parallel.hsdp_replicate_size = 2;
  EXPECT_EQ(world_size(parallel), 8);
  EXPECT_EQ(size_without_hsdp(parallel), 1);
  parallel.ulysses_degree = 6;
  EXPECT_EQ(world_size(parallel), 6);
  parallel.use_hsdp = false;
  parallel.ulysses_degree = 1;
  EXPECT_EQ(world_size(parallel), 1);
}

TEST(WorldSize, HugeSizes_Saturate) {
  ParallelConfig parallel;
  parallel.data_parallel_size = kHuge;
  parallel.tensor_parallel_size = kHuge;
  EXPECT_EQ(world_size(parallel), kHuge);
}

TEST(SizesPositive, AnySizeBelowOne_IsSeen) {
  EXPECT_TRUE(sizes_positive(ParallelConfig{}));
  for (const auto member :
       {&ParallelConfig::data_parallel_size, &ParallelConfig::tensor_parallel_size,
        &ParallelConfig::ulysses_degree, &ParallelConfig::ring_degree,
        &ParallelConfig::allgather_degree, &ParallelConfig::pipeline_parallel_size,
        &ParallelConfig::cfg_parallel_size, &ParallelConfig::vae_patch_parallel_size}) {
    ParallelConfig parallel;
    parallel.*member = 0;
    EXPECT_FALSE(sizes_positive(parallel));
  }
  ParallelConfig parallel;
  parallel.sequence_parallel_size = -1;
  EXPECT_FALSE(sizes_positive(parallel));
}

TEST(SizesPositive, TwoNegativeDegrees_DoNotCancel) {
  ParallelConfig parallel;
  parallel.ulysses_degree = -2;
  parallel.ring_degree = -2;
  EXPECT_FALSE(sizes_positive(parallel));
}

}  // namespace
}  // namespace dlo::config
