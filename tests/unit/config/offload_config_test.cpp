// Goal: the normal form has one strategy, the right weight group, and says what lost (1.4).
// Method: each step of the reference's algorithm on its own.
#include "config/offload_config.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/codes.h"
#include "base/error.h"
#include "config/offload_options.h"
#include "config/parallel_config.h"

namespace dlo::config {
namespace {

OffloadOptions dlo_options() {
  OffloadOptions options;
  options.enable_distributed_layerwise_offload = true;
  return options;
}

ParallelConfig sizes(std::int64_t dp, std::int64_t ulysses) {
  ParallelConfig parallel;
  parallel.data_parallel_size = dp;
  parallel.ulysses_degree = ulysses;
  return parallel;
}

TEST(Normalise, Defaults_AreNoOffload) {
  const auto config = normalise({}, {});
  EXPECT_EQ(config.strategy, OffloadStrategy::kNone);
  EXPECT_EQ(config.dp_size, 1U);
  EXPECT_TRUE(config.set_aside.empty());
}

TEST(Normalise, GroupSize_IsDpThenSp) {
  EXPECT_EQ(normalise(dlo_options(), sizes(4, 1)).dp_size, 4U);
  EXPECT_EQ(normalise(dlo_options(), sizes(4, 2)).dp_size, 4U);
  EXPECT_EQ(normalise(dlo_options(), sizes(1, 2)).dp_size, 2U);
  EXPECT_EQ(normalise(dlo_options(), sizes(1, 1)).dp_size, 1U);
}

TEST(Normalise, TensorParallelRanks_AreNeverTheGroup) {
  ParallelConfig parallel;
  parallel.tensor_parallel_size = 4;
  EXPECT_EQ(normalise(dlo_options(), parallel).dp_size, 1U);
}

TEST(Normalise, WithoutAllGather_GroupIsOneRank) {
  auto options = dlo_options();
  options.dlo_use_allgather = false;
  EXPECT_EQ(normalise(options, sizes(4, 2)).dp_size, 1U);
  options.enable_distributed_layerwise_offload = false;
  EXPECT_EQ(normalise(options, sizes(4, 2)).dp_size, 4U);
}

TEST(Normalise, ExplicitHsdp_IsShardTimesReplicate) {
  auto parallel = sizes(1, 1);
  parallel.use_hsdp = true;
  parallel.hsdp_shard_size = 4;
  parallel.hsdp_replicate_size = 2;
  const auto config = normalise({}, parallel);
  EXPECT_EQ(config.dp_size, 8U);
  EXPECT_TRUE(config.use_hsdp);
}

TEST(Normalise, AllThreeStrategies_HighestWinsAndOthersAreNamed) {
  auto options = dlo_options();
  options.enable_layerwise_offload = true;
  options.enable_cpu_offload = true;
  const auto config = normalise(options, {});
  EXPECT_EQ(config.strategy, OffloadStrategy::kDistributedLayerwise);
  ASSERT_EQ(config.set_aside.size(), 2U);
  EXPECT_EQ(config.set_aside[0].code, codes::kLowerPriorityStrategy);
  EXPECT_EQ(config.set_aside[0].where, "enable_layerwise_offload");
  EXPECT_EQ(config.set_aside[0].what,
            "layerwise offload is set aside for distributed_layerwise offload");
  EXPECT_EQ(config.set_aside[1].where, "enable_cpu_offload");
}

TEST(Normalise, LayerwiseAndModelLevel_LayerwiseWins) {
  OffloadOptions options;
  options.enable_layerwise_offload = true;
  options.enable_cpu_offload = true;
  const auto config = normalise(options, {});
  EXPECT_EQ(config.strategy, OffloadStrategy::kLayerwise);
  ASSERT_EQ(config.set_aside.size(), 1U);
  EXPECT_EQ(config.set_aside[0].where, "enable_cpu_offload");
}

TEST(Normalise, Numbers_AreCarriedOver) {
  auto options = dlo_options();
  options.pin_cpu_memory = false;
  options.dlo_resident_layers = 3;
  options.dlo_runtime_cache_pin_limit_gib = 1.5;
  options.dlo_prefetch_depth = 4;
  options.dlo_chunk_bytes = 512;
  options.dlo_input_slots = 7;
  options.dlo_checkpoint_mmap = false;
  options.dlo_pack_threads = 9;
  options.dlo_staging_bytes = 4096;
  options.dlo_staging_chunk_bytes = 1024;
  const auto config = normalise(options, {});
  EXPECT_FALSE(config.pin_cpu_memory);
  EXPECT_EQ(config.dlo_resident_layers, 3U);
  EXPECT_EQ(config.dlo_runtime_cache_pin_limit_gib, 1.5);
  EXPECT_EQ(config.prefetch_depth, 4U);
  EXPECT_EQ(config.chunk_bytes, 512U);
  EXPECT_EQ(config.input_slots, 7U);
  EXPECT_FALSE(config.checkpoint_mmap);
  EXPECT_EQ(config.pack_threads, 9U);
  EXPECT_EQ(config.staging_bytes, 4096U);
  EXPECT_EQ(config.staging_chunk_bytes, 1024U);
}

TEST(Normalise, MoreResidentLayersThanAnyModel_AreClamped) {
  auto options = dlo_options();
  options.dlo_resident_layers = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(normalise(options, {}).dlo_resident_layers, std::numeric_limits<std::uint32_t>::max());
}

TEST(StrategyName, EveryStrategy_HasItsName) {
  EXPECT_EQ(strategy_name(OffloadStrategy::kNone), "none");
  EXPECT_EQ(strategy_name(OffloadStrategy::kModelLevel), "model_level");
  EXPECT_EQ(strategy_name(OffloadStrategy::kLayerwise), "layerwise");
  EXPECT_EQ(strategy_name(OffloadStrategy::kDistributedLayerwise), "distributed_layerwise");
  EXPECT_THROW(static_cast<void>(strategy_name(static_cast<OffloadStrategy>(9))), LogicError);
}

}  // namespace
}  // namespace dlo::config
