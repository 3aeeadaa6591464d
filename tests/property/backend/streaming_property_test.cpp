// Goal: whatever the ring, depth, chunks, group and speed of the link, every rank computes on the
// bytes of the resident run (I1, I2), moves exactly the planned bytes (I3), stays inside its memory
// (I4), and leaves nothing behind (I9).
// Method: RapidCheck draws jobs; ranks are threads, streams are threads, races are real.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/property/backend/delay_device.h"
#include "tests/property/backend/synthetic_job.h"

namespace dlo::test {
namespace {

using platform::OpLabel;
using platform::Site;

constexpr Nanoseconds kShortDelay = 200 * kMicrosecond;

// Slows one stage of the chain down, or none.
Decorate draw_decoration() {
  const auto slow = *rc::gen::elementOf(
      std::vector<Site>{Site::kModel, Site::kH2d, Site::kCompute, Site::kGather});
  RC_TAG(std::string(platform::site_name(slow)));
  const auto delay = slow == Site::kModel ? 0 : kShortDelay;
  return slow_for_a_third(slow, *rc::gen::inRange<std::int32_t>(0, 3), delay);
}

SyntheticJob draw_job(int ranks) {
  SyntheticJob job;
  std::vector<std::uint32_t> rings(*rc::gen::inRange<std::size_t>(1, 4));
  for (auto& blocks : rings) {
    blocks = *rc::gen::inRange(1U, 10U);
  }
  job.shape = synthetic::draw_shape(*rc::gen::arbitrary<std::uint32_t>(), rings);
  job.ranks = ranks;
  job.config = streaming_config(static_cast<std::uint32_t>(ranks), *rc::gen::inRange(1U, 5U),
                                *rc::gen::elementOf(std::vector<std::uint64_t>{0, 256, 512, 4096}));
  job.config.input_slots = *rc::gen::inRange(1U, 4U);
  job.config.pin_cpu_memory = *rc::gen::arbitrary<bool>();
  job.requests = whole_walks(rings.size(), *rc::gen::inRange(1U, 4U), *rc::gen::inRange(1U, 4U));
  job.decorate = draw_decoration();
  return job;
}

void expect_good(const SyntheticJob& job) {
  const auto resident = resident_digest(job);
  for (const auto& rank : run_job(job)) {
    RC_LOG() << rank.text() << "\n";
    RC_ASSERT(rank.good(resident));
  }
}

RC_GTEST_PROP(Streaming, RankLocal_EqualsResidentWithinPlanAndMemory, ()) {
  expect_good(draw_job(1));
}

RC_GTEST_PROP(Streaming, AllGather_EqualsResidentWithinPlanAndMemory, ()) {
  expect_good(draw_job(*rc::gen::inRange(2, 5)));
}

// A DiT of one to three rings, the others children of the first.
SyntheticJob draw_chained_job(int ranks) {
  auto job = draw_job(ranks);
  const auto rings = job.shape.rings.size();
  job.shape = synthetic::with_children(job.shape);
  job.requests = whole_forwards(rings, *rc::gen::inRange(1U, 4U), *rc::gen::inRange(1U, 4U));
  job.mapped = *rc::gen::arbitrary<bool>();
  if (ranks == 1) {
    job.config.dlo_resident_layers = *rc::gen::inRange(0U, 4U);
  }
  return job;
}

// I3 with exactly one load a block: prime and walks, and nothing that was loaded again.
void expect_good_without_repair(const SyntheticJob& job) {
  const auto resident = resident_digest(job);
  for (const auto& rank : run_job(job)) {
    RC_LOG() << rank.text() << "\n";
    RC_ASSERT(rank.good(resident));
    RC_ASSERT(rank.repairs == 0U);
  }
}

RC_GTEST_PROP(Streaming, ChildrenBeforeTheirParent_RankLocal_RepairsNothing, ()) {
  expect_good_without_repair(draw_chained_job(1));
}

RC_GTEST_PROP(Streaming, ChildrenBeforeTheirParent_AllGather_RepairsNothing, ()) {
  expect_good_without_repair(draw_chained_job(*rc::gen::inRange(2, 5)));
}

SyntheticJob parent_and_child_job(int ranks, std::uint32_t depth) {
  SyntheticJob job;
  job.shape = synthetic::with_children(synthetic::draw_shape(11, {5, 2}));
  job.ranks = ranks;
  job.config = streaming_config(static_cast<std::uint32_t>(ranks), depth, 256);
  return job;
}

// A child that one forward leaves out. Rank-local and SP groups repair.
TEST(Streaming, ForwardWithoutTheChild_EqualsResidentOfTheSameWalks) {
  for (const int ranks : {1, 2}) {
    for (const std::uint32_t depth : {1U, 3U}) {
      auto job = parent_and_child_job(ranks, depth);
      job.axis = backend::GroupAxis::kSequence;
      job.requests = {{{1, {}}, {0, {}}, {0, {}}, {1, {}}, {0, {}}}, {{0, {}}, {1, {}}, {1, {}}}};
      const auto resident = resident_digest(job);
      for (const auto& rank : run_job(job)) {
        EXPECT_TRUE(rank.code.empty() && rank.findings.clean()) << rank.text();
        EXPECT_EQ(rank.digest, resident) << rank.text();
      }
    }
  }
}

// I5: the ranks' gathers would no longer be of the same blocks.
TEST(Streaming, ForwardWithoutTheChildOnOneDataParallelRank_EndsBothRanksAndNeverInBytes) {
  for (const int leaves_out : {0, 1}) {
    for (const std::uint32_t depth : {1U, 3U}) {
      auto job = parent_and_child_job(2, depth);
      job.requests = whole_forwards(2, 1, 3);
      job.requests_of[leaves_out] = {{{1, {}}, {0, {}}, {0, {}}, {1, {}}, {0, {}}}};
      const auto outcomes = run_job(job);
      for (const auto& rank : outcomes) {
        EXPECT_TRUE(rank.findings.clean()) << rank.text();
        EXPECT_TRUE(rank.untouched_after && rank.bytes_left == 0) << rank.text();
      }
      const auto& other = outcomes.at(static_cast<std::size_t>(1 - leaves_out));
      EXPECT_EQ(outcomes.at(static_cast<std::size_t>(leaves_out)).code, "stale_slot");
      EXPECT_FALSE(other.code.empty()) << "it waits for gathers that never come: " << other.text();
    }
  }
}

TEST(Streaming, ForwardWithoutTheChildOnEveryDataParallelRank_IsStaleSlot) {
  auto job = parent_and_child_job(2, 1);
  job.requests = {{{1, {}}, {0, {}}, {0, {}}}};
  for (const auto& rank : run_job(job)) {
    EXPECT_EQ(rank.code, "stale_slot") << rank.text();
    EXPECT_TRUE(rank.findings.clean()) << rank.text();
  }
}

// Every count that public bug reports name (RG-1, RG-6), each with a slow last block.
TEST(Streaming, EveryBlockCountOneToNine_EqualsResident) {
  for (std::uint32_t blocks = 1; blocks <= 9; ++blocks) {
    for (const int ranks : {1, 2}) {
      SyntheticJob job;
      job.shape = synthetic::draw_shape(blocks, {blocks});
      job.ranks = ranks;
      job.config = streaming_config(static_cast<std::uint32_t>(ranks), 1, 512);
      job.requests = whole_walks(1, 3, 2);
      const auto last = static_cast<std::int32_t>(blocks) - 1;
      job.decorate = [last](int, std::unique_ptr<platform::Device> device) {
        return std::make_unique<DelayDevice>(std::move(device), [last](const OpLabel& label) {
          return label.site == Site::kCompute && label.block == last ? 10 * kShortDelay : 0;
        });
      };
      const auto resident = resident_digest(job);
      for (const auto& rank : run_job(job)) {
        EXPECT_TRUE(rank.good(resident)) << blocks << " blocks: " << rank.text();
        EXPECT_EQ(rank.effective.streamed_block_count, blocks == 1 ? 0 : blocks);
        EXPECT_EQ(rank.repairs, 0U);
      }
    }
  }
}

// RG-2: a kernel that is late must not find its slot overwritten.
TEST(Streaming, AnyBlockLate_EqualsResident) {
  for (std::int32_t late = 0; late < 4; ++late) {
    SyntheticJob job;
    job.shape = synthetic::uniform_shape(7, 4, 64);
    job.config = streaming_config(1, 1, 0);
    job.requests = whole_walks(1, 2, 2);
    job.decorate = [late](int, std::unique_ptr<platform::Device> device) {
      return std::make_unique<DelayDevice>(std::move(device), [late](const OpLabel& label) {
        return label.site == Site::kCompute && label.block == late ? 10 * kMillisecond : 0;
      });
    };
    const auto resident = resident_digest(job);
    const auto rank = run_job(job).front();
    EXPECT_TRUE(rank.good(resident)) << rank.text();
  }
}

// RG-5: another order, a block twice, a block left out. Rank-local and SP groups repair.
TEST(Streaming, BlocksOutOfOrderOrSkipped_EqualsResidentOfTheSameOrder) {
  const std::vector<std::vector<Walk>> requests = {
      {{0, {0, 2, 1, 3}}, {0, {0, 1, 1, 2, 3}}, {0, {0, 1, 2, 3}}}, {{0, {0, 3}}, {0, {1, 2}}}};
  for (const int ranks : {1, 2}) {
    SyntheticJob job;
    job.shape = synthetic::draw_shape(11, {4});
    job.ranks = ranks;
    job.axis = backend::GroupAxis::kSequence;
    job.config = streaming_config(static_cast<std::uint32_t>(ranks), 2, 256);
    job.requests = requests;
    const auto resident = resident_digest(job);
    for (const auto& rank : run_job(job)) {
      EXPECT_EQ(rank.digest, resident) << rank.text();
      EXPECT_TRUE(rank.findings.clean()) << rank.text();
      EXPECT_GT(rank.repairs, 0U);
    }
  }
}

TEST(Streaming, SkippedBlockInADataParallelGroup_EndsWithStaleSlotOnEveryRank) {
  SyntheticJob job;
  job.shape = synthetic::draw_shape(11, {4});
  job.ranks = 2;
  job.config = streaming_config(2, 1, 0);
  job.requests = {{{0, {}}, {0, {0, 2, 3}}}};
  for (const auto& rank : run_job(job)) {
    EXPECT_EQ(rank.code, "stale_slot") << rank.text();
    EXPECT_TRUE(rank.findings.clean()) << rank.text();
    EXPECT_TRUE(rank.untouched_after && rank.bytes_left == 0) << rank.text();
  }
}

// SH-1: group sizes that divide nothing, tensors of awkward sizes.
TEST(Streaming, ThreeRanksAndOddTensors_EqualsResident) {
  SyntheticJob job;
  job.shape.seed = 3;
  auto& ring = job.shape.rings.emplace_back();
  for (const std::int64_t elements : {1, 2, 3, 10, 65537}) {
    ring.blocks.push_back({{DType::kU8, {elements}, {}}});
  }
  job.ranks = 3;
  job.config = streaming_config(3, 2, 4096);
  job.requests = whole_walks(1, 2, 2);
  const auto resident = resident_digest(job);
  for (const auto& rank : run_job(job)) {
    EXPECT_TRUE(rank.good(resident)) << rank.text();
  }
}

}  // namespace
}  // namespace dlo::test
