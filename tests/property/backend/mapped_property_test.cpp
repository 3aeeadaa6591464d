// Goal: blocks that lie in mapped files give the bytes of the resident run however they come:
// staged through a bounded ring of chunks, sharded for AllGather, resident for a stage or for good;
// with the planned traffic, inside the promised memory, and with every file closed when it may be.
// A file that shrinks ends the rank under one name.
// Method: RapidCheck draws jobs over a double of mapped tensors, some of whose runs are out of
// order; ranks, streams and packers are threads, races are real.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/codes.h"
#include "tests/property/backend/delay_device.h"
#include "tests/property/backend/synthetic_job.h"

namespace dlo::test {
namespace {

using contracts::Backing;
using contracts::Transfer;
using platform::Site;

// Slows packing, the link or compute down for one block in three, or nothing.
Decorate draw_slow_stage() {
  const auto slow =
      *rc::gen::elementOf(std::vector<Site>{Site::kModel, Site::kPack, Site::kH2d, Site::kCompute});
  RC_TAG(std::string(platform::site_name(slow)));
  const auto delay = slow == Site::kModel ? 0 : 200 * kMicrosecond;
  return slow_for_a_third(slow, *rc::gen::inRange<std::int32_t>(0, 3), delay);
}

SyntheticJob draw_mapped_job(int ranks) {
  SyntheticJob job;
  std::vector<std::uint32_t> rings(*rc::gen::inRange<std::size_t>(1, 3));
  for (auto& blocks : rings) {
    blocks = *rc::gen::inRange(1U, 9U);
  }
  const auto seed = *rc::gen::arbitrary<std::uint32_t>();
  job.shape = *rc::gen::arbitrary<bool>() ? synthetic::draw_shape(seed, rings)
                                          : synthetic::two_list_shape(seed, rings);
  job.ranks = ranks;
  job.config = streaming_config(static_cast<std::uint32_t>(ranks), *rc::gen::inRange(1U, 5U),
                                *rc::gen::elementOf(std::vector<std::uint64_t>{0, 256, 1024}));
  job.config.pin_cpu_memory = *rc::gen::arbitrary<bool>();
  job.config.staging_chunk_bytes =
      *rc::gen::elementOf(std::vector<std::uint64_t>{0, 256, 512, 4096});
  job.config.staging_bytes = *rc::gen::elementOf(std::vector<std::uint64_t>{
      0, *rc::gen::inRange<std::uint64_t>(2, 5) *
             std::max<std::uint64_t>(256, job.config.staging_chunk_bytes)});
  job.requests = whole_walks(rings.size(), *rc::gen::inRange(1U, 4U), *rc::gen::inRange(1U, 3U));
  job.mapped = true;
  job.pack_threads = *rc::gen::inRange<std::size_t>(1, 4);
  job.decorate = draw_slow_stage();
  return job;
}

void expect_mapped_good(const SyntheticJob& job) {
  const auto resident = resident_digest(job);
  for (const auto& rank : run_job(job)) {
    RC_LOG() << rank.text() << "\n";
    RC_ASSERT(rank.good(resident));
    RC_ASSERT(rank.effective.backing == Backing::kCheckpointMmap);
    const bool keeps = rank.effective.transfer == Transfer::kStaged;
    RC_ASSERT((rank.mapped_after_enable > 0) == keeps);
  }
}

RC_GTEST_PROP(Mapped, Staged_EqualsResidentWithinPlanAndMemory, ()) {
  expect_mapped_good(draw_mapped_job(1));
}

RC_GTEST_PROP(Mapped, AllGather_EqualsResidentAndClosesEveryFile, ()) {
  expect_mapped_good(draw_mapped_job(*rc::gen::inRange(2, 4)));
}

RC_GTEST_PROP(Mapped, ResidentLeadingLayers_EqualsResidentFromEitherBacking, ()) {
  auto job = draw_mapped_job(1);
  job.mapped = *rc::gen::arbitrary<bool>();
  job.config.dlo_resident_layers = *rc::gen::inRange(1U, 9U);
  const auto resident = resident_digest(job);
  const auto rank = run_job(job).front();
  RC_LOG() << rank.text() << "\n";
  RC_ASSERT(rank.good(resident));
}

TEST(Mapped, ResidentForGood_EqualsPrivateResidentAndClosesEveryFile) {
  SyntheticJob job;
  job.shape = synthetic::draw_shape(5, {3, 1, 4});
  job.requests = whole_walks(3, 1, 1);
  job.mapped = true;
  const auto rank = run_job(job).front();
  EXPECT_TRUE(rank.good(resident_digest(job))) << rank.text();
  EXPECT_EQ(rank.mapped_after_enable, 0U);
}

TEST(Mapped, ThreeModesOfOneModel_ReadEqualBytes) {
  SyntheticJob job;
  job.shape = synthetic::draw_shape(21, {5, 3});
  job.requests = whole_walks(2, 2, 2);
  const auto resident = resident_digest(job);
  for (const bool mapped : {false, true}) {
    for (const int ranks : {1, 2}) {
      job.mapped = mapped;
      job.ranks = ranks;
      job.config = streaming_config(static_cast<std::uint32_t>(ranks), 1, 512);
      job.config.staging_chunk_bytes = 512;
      for (const auto& rank : run_job(job)) {
        EXPECT_TRUE(rank.good(resident)) << rank.text();
      }
    }
  }
}

// Two DiTs that take turns (Wan 2.2): each entry is group-first and repairs.
TEST(Mapped, TwoDitsThatTakeTurns_RepairOnEachEntry) {
  SyntheticJob job;
  job.shape = synthetic::draw_shape(8, {4, 4});
  job.config = streaming_config(1, 1, 0);
  job.requests = {{{0, {}}, {0, {}}, {1, {}}, {1, {}}}, {{0, {}}, {1, {}}}};
  job.mapped = true;
  const auto rank = run_job(job).front();
  EXPECT_TRUE(rank.good(resident_digest(job))) << rank.text();
  EXPECT_EQ(rank.repairs, 3U) << "the first DiT was primed, then three changes";
}

TEST(Mapped, FileShrinksBetweenRequests_EndsByNameWithEverythingReleased) {
  SyntheticJob job;
  job.shape = synthetic::draw_shape(9, {6});
  job.config = streaming_config(1, 1, 0);
  job.requests = whole_walks(1, 2, 2);
  job.mapped = true;
  job.pack_threads = 3;
  job.after_request = [](synthetic::SyntheticMapping& mapping) { mapping.truncate(); };
  const auto rank = run_job(job).front();
  EXPECT_EQ(rank.code, codes::kMappingTruncated) << rank.text();
  EXPECT_NE(rank.message.find("ring 0 block "), std::string::npos) << rank.message;
  EXPECT_TRUE(rank.untouched_after && rank.bytes_left == 0 && rank.mapped_left == 0) << rank.text();
}

TEST(Mapped, ResidentLayersThatAllStay_StreamNothingAndLoadOncePerRequest) {
  for (const bool mapped : {false, true}) {
    SyntheticJob job;
    job.shape = synthetic::draw_shape(4, {3});
    job.config = streaming_config(1, 1, 0);
    job.config.dlo_resident_layers = 7;
    job.requests = whole_walks(1, 2, 3);
    job.mapped = mapped;
    const auto rank = run_job(job).front();
    EXPECT_TRUE(rank.good(resident_digest(job))) << rank.text();
    EXPECT_EQ(rank.effective.streamed_block_count, 0U);
    EXPECT_EQ(rank.effective.resident_block_count, 3U);
    EXPECT_EQ(rank.memory.slot_count, 0U);
    EXPECT_EQ(rank.measured.h2d_bytes, 2 * rank.memory.resident_bytes) << "once a request";
  }
}

}  // namespace
}  // namespace dlo::test
