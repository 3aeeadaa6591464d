// Goal: the figures that runs are held against (I3, I4), the downgrades with their codes, and the
// schedule digest (I5).
// Method: small rings whose figures are worked out by hand.
#include "backend/transfer_plan.h"

#include <gtest/gtest.h>

#include "base/codes.h"
#include "base/error.h"
#include "synthetic/synthetic_model.h"
#include "tests/unit/backend/backend_fixture.h"

namespace dlo::backend {
namespace {

using contracts::Backing;
using contracts::Transfer;
using synthetic::SyntheticModel;
using synthetic::uniform_shape;

TransferPlan plan_of(const config::OffloadConfig& config, const SyntheticModel& model,
                     Backing backing = Backing::kOrdinary,
                     const contracts::OffloadPlan& offload_plan = {}) {
  const bool stream = config.strategy == config::OffloadStrategy::kDistributedLayerwise;
  const PlacementRules rules{stream, config.dlo_resident_layers, offload_plan};
  return plan_transfer(config, plan_placement(model.table(), rules),
                       config.dlo_use_allgather ? config.dp_size : 1, backing);
}

std::vector<std::string> downgrade_codes(const TransferPlan& plan) {
  std::vector<std::string> found;
  for (const auto& downgrade : plan.effective.downgrades) {
    found.push_back(downgrade.code);
  }
  return found;
}

TEST(TransferPlan, RankLocal_MovesEveryPaddedBlockOncePerForward) {
  const SyntheticModel model(uniform_shape(1, 3, 1000));  // padded to 1024
  const auto plan = plan_of(test::rank_local_config(), model);
  EXPECT_EQ(plan.effective.transfer, Transfer::kRankLocal);
  EXPECT_EQ(plan.traffic.per_forward, (std::vector<Traffic>{{3, 3072, 0, 0}}));
  EXPECT_EQ(plan.traffic.prime, (Traffic{2, 2048, 0, 0})) << "blocks 0 and 1 fill two slots";
  EXPECT_EQ(plan.memory.slot_count, 2U);
  EXPECT_EQ(plan.memory.slot_bytes, 1024U);
  EXPECT_EQ(plan.memory.host_store_bytes, 3072U);
  EXPECT_EQ(plan.memory.pinned_bytes(), 3072U);
  EXPECT_EQ(plan.memory.device_limit_bytes(), 2048U);
  EXPECT_TRUE(plan.effective.downgrades.empty());
}

TEST(TransferPlan, AllGatherInChunks_MovesShardsAndReceivesTheRest) {
  const SyntheticModel model(uniform_shape(1, 3, 2000));  // padded to 2048, shards of 1024
  auto config = test::all_gather_config();
  config.chunk_bytes = 768;  // two even pieces of 512
  config.input_slots = 3;
  const auto plan = plan_of(config, model);
  EXPECT_EQ(plan.effective.transfer, Transfer::kAllGather);
  EXPECT_EQ(plan.effective.group_size, 2U);
  EXPECT_EQ(plan.effective.chunk_bytes, 768U);
  EXPECT_EQ(plan.traffic.per_forward, (std::vector<Traffic>{{6, 3072, 6, 3072}}));
  EXPECT_EQ(plan.memory.input_slot_bytes, 512U);
  EXPECT_EQ(plan.memory.device_limit_bytes(), 2 * 2048U + 3 * 512U);
  EXPECT_EQ(plan.memory.pinned_bytes(), 3072U) << "half of the model on each of two ranks";
}

TEST(TransferPlan, DepthBeyondTheRing_IsCutToBlocksMinusOne) {
  const SyntheticModel model(uniform_shape(1, 3, 512));
  auto config = test::rank_local_config();
  config.prefetch_depth = 4;
  const auto plan = plan_of(config, model);
  EXPECT_EQ(plan.effective.prefetch_depth, 2U);
  EXPECT_EQ(plan.memory.slot_count, 3U);
}

TEST(TransferPlan, TwoRings_ShareSlotsOfTheLargestBlock) {
  synthetic::SyntheticShape shape = uniform_shape(1, 2, 512);
  shape.rings.push_back(uniform_shape(1, 5, 4096).rings.front());
  const SyntheticModel model(shape);
  auto config = test::rank_local_config();
  config.prefetch_depth = 3;
  const auto plan = plan_of(config, model);
  ASSERT_EQ(plan.chains.size(), 2U);
  EXPECT_EQ(plan.chains[0].rings, std::vector<std::size_t>{0});
  EXPECT_EQ(plan.chains[1].rings, std::vector<std::size_t>{1});
  EXPECT_EQ(plan.chains[0].prefetch_depth, 1U);
  EXPECT_EQ(plan.chains[1].prefetch_depth, 3U);
  EXPECT_EQ(plan.memory.slot_count, 4U);
  EXPECT_EQ(plan.memory.slot_bytes, 4096U);
  EXPECT_EQ(plan.traffic.prime, (Traffic{2, 1024, 0, 0})) << "the first ring alone is primed";
}

// Five blocks of 4096 and two children of two blocks of 512 each.
synthetic::SyntheticShape shape_with_children() {
  synthetic::SyntheticShape shape = uniform_shape(1, 5, 4096);
  for (int child = 0; child < 2; ++child) {
    shape.rings.push_back(uniform_shape(1, 2, 512).rings.front());
  }
  return synthetic::with_children(std::move(shape));
}

const contracts::OffloadPlan kStreamChildren = {
    .offload_submodules = {{"ring1", "blocks"}, {"ring2", "blocks"}}};

TEST(TransferPlan, ChildrenAndTheirParent_AreOneChainInTheOrderOfTheWalk) {
  const SyntheticModel model(shape_with_children());
  auto config = test::rank_local_config();
  config.prefetch_depth = 4;
  const auto plan = plan_of(config, model, Backing::kOrdinary, kStreamChildren);
  ASSERT_EQ(plan.chains.size(), 1U);
  EXPECT_EQ(plan.chains[0].rings, (std::vector<std::size_t>{1, 2, 0}));
  EXPECT_EQ(plan.chains[0].prefetch_depth, 4U) << "of nine blocks, not of two";
  EXPECT_EQ(plan.memory.slot_count, 5U);
  EXPECT_EQ(plan.traffic.prime, (Traffic{5, 4 * 512 + 4096, 0, 0}))
      << "both children and the parent's first block";
  EXPECT_EQ(plan.traffic.per_forward,
            (std::vector<Traffic>{{5, 5 * 4096, 0, 0}, {2, 1024, 0, 0}, {2, 1024, 0, 0}}));
}

TEST(TransferPlan, ChildThatStaysResident_IsNotInTheChain) {
  const SyntheticModel model(shape_with_children());
  const auto plan = plan_of(test::rank_local_config(), model, Backing::kOrdinary,
                            {.offload_submodules = {{"ring2", "blocks"}}});
  ASSERT_EQ(plan.chains.size(), 1U);
  EXPECT_EQ(plan.rings[1].dit, 2U);
  EXPECT_EQ(plan.chains[0].rings, (std::vector<std::size_t>{1, 0})) << "indices of rings";
}

TEST(TransferPlan, ParentThatIsWhollyResident_LeavesAChainOfItsChildren) {
  const SyntheticModel model(shape_with_children());
  auto config = test::rank_local_config();
  config.dlo_resident_layers = 5;
  config.prefetch_depth = 2;
  auto offload_plan = kStreamChildren;
  offload_plan.resident_dit_paths = {"ring0"};
  const auto plan = plan_of(config, model, Backing::kOrdinary, offload_plan);
  ASSERT_EQ(plan.chains.size(), 1U);
  EXPECT_EQ(plan.chains[0].rings, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(plan.traffic.prime, (Traffic{3, 1536, 0, 0}));
}

TEST(TransferPlan, ParentsThatCloseOnThemselves_AreALogicErrorThatNamesTheDit) {
  const SyntheticModel model(shape_with_children());
  auto placement = plan_placement(model.table(), {.stream = true, .offload_plan = kStreamChildren});
  placement.dits[0].parent = "ring1";
  try {
    static_cast<void>(plan_transfer(test::rank_local_config(), placement, 1, Backing::kOrdinary));
    FAIL() << "'ring0' and 'ring1' are each other's parents";
  } catch (const LogicError& error) {
    EXPECT_NE(std::string(error.what()).find("'ring0' streams and no chain walks it"),
              std::string::npos)
        << error.what();
  }
}

TEST(TransferPlan, AllGatherAskedOfAGroupOfOne_IsRankLocalWithItsCode) {
  const SyntheticModel model(uniform_shape(1, 3, 512));
  auto config = test::all_gather_config();
  config.dp_size = 1;
  const auto plan = plan_of(config, model);
  EXPECT_EQ(plan.effective.transfer, Transfer::kRankLocal);
  EXPECT_EQ(downgrade_codes(plan), (std::vector<std::string>{"group_size_one"}));
}

TEST(TransferPlan, PinningOff_IsPageableWithItsCode) {
  const SyntheticModel model(uniform_shape(1, 3, 512));
  auto config = test::rank_local_config();
  config.pin_cpu_memory = false;
  const auto plan = plan_of(config, model);
  EXPECT_FALSE(plan.effective.pinned);
  EXPECT_EQ(plan.memory.pinned_bytes(), 0U);
  EXPECT_EQ(plan.memory.host_store_bytes, 1536U);
  EXPECT_EQ(downgrade_codes(plan), (std::vector<std::string>{"pin_disabled"}));
}

TEST(TransferPlan, MappedBacking_IsStagedThroughTwoLargestBlocksByDefault) {
  const SyntheticModel model(uniform_shape(1, 3, 1000));  // padded to 1024
  const auto plan = plan_of(test::rank_local_config(), model, Backing::kCheckpointMmap);
  EXPECT_EQ(plan.effective.transfer, Transfer::kStaged);
  EXPECT_EQ(plan.effective.backing, Backing::kCheckpointMmap);
  EXPECT_EQ(plan.effective.chunk_bytes, 1024U) << "no larger than the largest block";
  EXPECT_EQ(plan.memory.staging_chunk_count, 2U);
  EXPECT_EQ(plan.memory.host_store_bytes, 0U) << "no private copy";
  EXPECT_EQ(plan.memory.pinned_bytes(), 2048U);
  EXPECT_EQ(plan.traffic.per_forward, (std::vector<Traffic>{{3, 3072, 0, 0}}));
  EXPECT_TRUE(plan.effective.downgrades.empty());
}

TEST(TransferPlan, MappedLargeBlocks_AreStagedThrough64MiBInChunksOf16) {
  const SyntheticModel model(uniform_shape(1, 2, 0));
  auto placement = plan_placement(model.table(), {.stream = true});
  const contracts::TensorSpec large{
      "large", contracts::TensorKind::kParameter, DType::kU8, {std::int64_t{700} << 20U}, {}};
  const contracts::BlockSpec spec{"large", {large}, nullptr};
  for (auto& block : placement.dits[0].blocks) {
    block.layout = contracts::BlockLayout(spec);
  }
  const auto plan =
      plan_transfer(test::rank_local_config(), placement, 1, Backing::kCheckpointMmap);
  EXPECT_EQ(plan.memory.staging_chunk_bytes, 16 * kMiB);
  EXPECT_EQ(plan.memory.staging_bytes(), 64 * kMiB);
  EXPECT_EQ(plan.traffic.per_forward[0].h2d_calls, 2 * 44U) << "700 / 16, rounded up";
}

TEST(TransferPlan, StagingOptions_GiveChunksAndRing) {
  const SyntheticModel model(uniform_shape(1, 3, 4096));
  auto config = test::rank_local_config();
  config.staging_chunk_bytes = 512;
  config.staging_bytes = 2000;
  const auto plan = plan_of(config, model, Backing::kCheckpointMmap);
  EXPECT_EQ(plan.memory.staging_chunk_bytes, 512U);
  EXPECT_EQ(plan.memory.staging_chunk_count, 3U);
  EXPECT_EQ(plan.traffic.per_forward, (std::vector<Traffic>{{24, 3 * 4096, 0, 0}}));
}

TEST(TransferPlan, MappedWithoutPinning_IsPageableStagingWithItsCode) {
  const SyntheticModel model(uniform_shape(1, 3, 512));
  auto config = test::rank_local_config();
  config.pin_cpu_memory = false;
  const auto plan = plan_of(config, model, Backing::kCheckpointMmap);
  EXPECT_EQ(plan.effective.transfer, Transfer::kStaged);
  EXPECT_EQ(plan.memory.pinned_bytes(), 0U);
  EXPECT_EQ(plan.memory.staging_bytes(), 1024U);
  EXPECT_EQ(downgrade_codes(plan), (std::vector<std::string>{"pin_disabled"}));
}

TEST(TransferPlan, MappedWithAllGather_KeepsShardsAndStagesNothing) {
  const SyntheticModel model(uniform_shape(1, 3, 2000));
  const auto plan = plan_of(test::all_gather_config(), model, Backing::kCheckpointMmap);
  EXPECT_EQ(plan.effective.transfer, Transfer::kAllGather);
  EXPECT_EQ(plan.effective.backing, Backing::kCheckpointMmap);
  EXPECT_EQ(plan.memory.staging_bytes(), 0U);
  EXPECT_EQ(plan.memory.host_store_bytes, 3072U);
}

TEST(TransferPlan, ResidentLayers_LeaveTheRingAndCostTheStageEntry) {
  const SyntheticModel model(uniform_shape(1, 5, 512));
  auto config = test::rank_local_config();
  config.dlo_resident_layers = 2;
  const auto plan = plan_of(config, model, Backing::kOrdinary, {.resident_dit_paths = {"ring0"}});
  EXPECT_EQ(plan.rings.front().leading, 2U);
  EXPECT_EQ(plan.effective.streamed_block_count, 3U);
  EXPECT_EQ(plan.effective.resident_block_count, 2U);
  EXPECT_EQ(plan.traffic.stage_entry, (Traffic{2, 1024, 0, 0}));
  EXPECT_EQ(plan.traffic.per_forward, (std::vector<Traffic>{{3, 1536, 0, 0}}));
  EXPECT_EQ(plan.memory.resident_bytes, 1024U);
  EXPECT_EQ(plan.memory.stage_resident_bytes, 1024U);
  EXPECT_EQ(plan.memory.device_limit_bytes(), 2 * 512U + 1024U) << "two slots beside them";
  EXPECT_EQ(plan.memory.host_store_bytes, 5 * 512U) << "the host keeps the master of all";
  EXPECT_TRUE(plan.effective.downgrades.empty());
}

TEST(TransferPlan, ResidentLayersOfNoEligibleDit_AreStreamedWithTheirCode) {
  const SyntheticModel model(uniform_shape(1, 3, 512));
  auto config = test::rank_local_config();
  config.dlo_resident_layers = 1;
  const auto plan = plan_of(config, model);
  EXPECT_EQ(plan.effective.streamed_block_count, 3U);
  EXPECT_EQ(downgrade_codes(plan), (std::vector<std::string>{"resident_layers_unavailable"}));
}

TEST(TransferPlan, SingleBlock_IsResidentWithItsCodeAlone) {
  const SyntheticModel model(uniform_shape(1, 1, 512));
  auto config = test::all_gather_config();
  config.dp_size = 1;
  config.pin_cpu_memory = false;
  const auto plan = plan_of(config, model);
  EXPECT_EQ(plan.effective.transfer, Transfer::kResident);
  EXPECT_EQ(downgrade_codes(plan), (std::vector<std::string>{"single_block_resident"}));
  EXPECT_EQ(plan.memory.device_limit_bytes(), 512U);
  EXPECT_EQ(plan.memory.stage_resident_bytes, 0U) << "there from enable() on";
  EXPECT_EQ(plan.traffic.per_forward, std::vector<Traffic>{Traffic{}});
  EXPECT_EQ(plan.traffic.prime, Traffic{});
}

TEST(TransferPlan, NoStrategy_IsResidentWithoutDowngrade) {
  const SyntheticModel model(uniform_shape(1, 1, 512));
  const auto plan = plan_of(config::OffloadConfig{}, model);
  EXPECT_EQ(plan.effective.transfer, Transfer::kResident);
  EXPECT_TRUE(plan.effective.downgrades.empty());
}

TEST(ScheduleDigest, AnythingThatChangesTheGathers_ChangesIt) {
  const SyntheticModel model(uniform_shape(1, 3, 4096));
  const SyntheticModel other(uniform_shape(1, 3, 4352));
  const auto config = test::all_gather_config();
  auto chunked = config;
  chunked.chunk_bytes = 256;
  auto deeper = config;
  deeper.prefetch_depth = 2;
  const auto digest = schedule_digest(plan_of(config, model));
  EXPECT_EQ(digest, schedule_digest(plan_of(config, model)));
  EXPECT_NE(digest, schedule_digest(plan_of(chunked, model)));
  EXPECT_NE(digest, schedule_digest(plan_of(deeper, model)));
  EXPECT_NE(digest, schedule_digest(plan_of(config, other)));
}

TEST(ScheduleDigest, OrderOfTheWalk_ChangesIt) {
  const auto config = test::all_gather_config();
  const SyntheticModel children(shape_with_children());
  auto apart = shape_with_children();
  for (auto& ring : apart.rings) {
    ring.child = false;
  }
  const SyntheticModel others(apart);
  EXPECT_NE(schedule_digest(plan_of(config, children, Backing::kOrdinary, kStreamChildren)),
            schedule_digest(plan_of(config, others)));
}

TEST(ScheduleDigest, PinningOnOneRankAlone_DoesNotChangeIt) {
  const SyntheticModel model(uniform_shape(1, 3, 4096));
  auto pageable = test::all_gather_config();
  pageable.pin_cpu_memory = false;
  EXPECT_EQ(schedule_digest(plan_of(pageable, model)),
            schedule_digest(plan_of(test::all_gather_config(), model)));
}

}  // namespace
}  // namespace dlo::backend
