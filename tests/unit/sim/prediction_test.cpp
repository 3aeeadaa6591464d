// Goal: predictions equal what can be worked out by hand, and repeat exactly.
// Method: round figures, one effect at a time; the simulator's schedule against closed forms of
// max(H2D, gather, compute) and of the protocol's limits (slots, input slots, chunks).
#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/sim/prediction_fixtures.h"

namespace dlo::engine {
namespace {

using contracts::Transfer;

Figure figure(double value) {
  return {value, "test", Evidence::kMeasured};
}

TEST(Prediction, Resident_IsCompute) {
  auto request = plain_request(Transfer::kResident, 1, 3 * kMillisecond);
  request.other_compute_ns = kMillisecond;
  const auto result = predicted(request);
  EXPECT_EQ(result.wave_ns, 25 * kMillisecond);
  EXPECT_EQ(result.block_p50_ns, 3 * kMillisecond);
  EXPECT_EQ(result.block_p99_ns,
            4 * kMillisecond);  // the first block, behind the rest of the model
  EXPECT_EQ(result.exposed_ns(), 0);
  EXPECT_EQ(result.bound, Resource::kCompute);
  EXPECT_TRUE(result.rates.empty());
}

TEST(Prediction, RankLocalTransferBound_BlockTakesItsCopy) {
  const auto result = predicted(plain_request(Transfer::kRankLocal, 1, 3 * kMillisecond));
  EXPECT_EQ(result.block_p50_ns, kPlainH2d);
  EXPECT_EQ(result.block_p99_ns, kPlainH2d);
  EXPECT_EQ(result.wave_ns, 8 * kPlainH2d);
  EXPECT_EQ(result.exposed_p50_ns, kPlainH2d - 3 * kMillisecond);
  EXPECT_EQ(result.bound, Resource::kH2d);
  EXPECT_DOUBLE_EQ(result.busy_share(Resource::kH2d), 1.0);
  EXPECT_DOUBLE_EQ(result.spent_share(Resource::kH2d), 5.0 / 8.0);
}

TEST(Prediction, RankLocalComputeBound_NothingIsExposed) {
  const auto result = predicted(plain_request(Transfer::kRankLocal, 4, 10 * kMillisecond));
  EXPECT_EQ(result.block_p50_ns, 10 * kMillisecond);
  EXPECT_EQ(result.exposed_p99_ns, 0);
  EXPECT_EQ(result.bound, Resource::kCompute);
  EXPECT_DOUBLE_EQ(result.spent_share(Resource::kCompute), 1.0);
}

TEST(Prediction, RankLocalRanksAtOnce_TakeTheRateOfThatMany) {
  auto request = plain_request(Transfer::kRankLocal, 4, 0);
  request.calibration.h2d.bytes_per_s[4] = figure(0.512e9);
  EXPECT_EQ(predicted(request).block_p50_ns, 2 * kPlainH2d);
  request.ranks = 3;  // no figure: the next larger number's
  const auto result = predicted(request);
  EXPECT_EQ(result.block_p50_ns, 2 * kPlainH2d);
  EXPECT_EQ(result.rates.at(0).evidence, Evidence::kExtrapolated);
}

TEST(Prediction, FirstForward_PaysTheFirstCopy) {
  const auto result = predicted(plain_request(Transfer::kRankLocal, 1, 3 * kMillisecond));
  EXPECT_EQ(result.first_wave_ns, 8 * kPlainH2d + 3 * kMillisecond);
}

// W = 2: shard 4 ms, gather 2 ms; W = 8: shard 1 ms, gather 2 ms.
TEST(Prediction, AllGather_IsTheSlowestOfShardGatherAndCompute) {
  struct Row {
    std::uint32_t ranks;
    Nanoseconds compute_ns;
    Nanoseconds block_ns;
    Resource bound;
  };
  for (const auto& row : {Row{2, kMillisecond, 4 * kMillisecond, Resource::kH2d},
                          Row{2, 7 * kMillisecond, 7 * kMillisecond, Resource::kCompute},
                          Row{4, kMillisecond, 2 * kMillisecond, Resource::kH2d},
                          Row{8, kMillisecond, 2 * kMillisecond, Resource::kGather},
                          Row{8, 3 * kMillisecond, 3 * kMillisecond, Resource::kCompute}}) {
    const auto result = predicted(plain_request(Transfer::kAllGather, row.ranks, row.compute_ns));
    EXPECT_EQ(result.block_p50_ns, row.block_ns) << row.ranks << " ranks, " << row.compute_ns;
    EXPECT_EQ(result.wave_ns, 8 * row.block_ns) << row.ranks << " ranks, " << row.compute_ns;
    EXPECT_EQ(result.bound, row.bound) << row.ranks << " ranks, " << row.compute_ns;
  }
}

TEST(Prediction, AllGatherOneInputSlot_CopyAndGatherAreSerial) {
  auto request = plain_request(Transfer::kAllGather, 2, kMillisecond);
  request.input_slots = 1;
  const auto result = predicted(request);
  EXPECT_EQ(result.block_p50_ns, kPlainH2d / 2 + kPlainGather);
  EXPECT_DOUBLE_EQ(result.busy_share(Resource::kH2d), 2.0 / 3.0);
  EXPECT_EQ(result.bound, Resource::kH2d);
}

// Chunks shorten the first wave by what the gather of the last block no longer waits for.
TEST(Prediction, AllGatherChunks_GatherOverlapsTheCopyOfItsOwnBlock) {
  auto request = plain_request(Transfer::kAllGather, 2, 0);
  EXPECT_EQ(predicted(request).first_wave_ns, 8 * kPlainH2d / 2 + kPlainGather);
  request.chunk_bytes = kPlainBlockBytes / 2 / 4;
  const auto result = predicted(request);
  EXPECT_EQ(result.chunks_per_block, 4U);
  EXPECT_EQ(result.first_wave_ns, 8 * kPlainH2d / 2 + kPlainGather / 4);
  EXPECT_EQ(result.block_p50_ns, kPlainH2d / 2);
}

TEST(Prediction, GroupsOfANode_GatherInTheGroupAndCopyAtOnce) {
  auto request = plain_request(Transfer::kAllGather, 8, 0);
  request.group_size = 2;
  request.calibration.h2d.bytes_per_s[8] = figure(0.512e9);
  EXPECT_EQ(predicted(request).block_p50_ns, kPlainH2d);
}

TEST(Prediction, Latency_CountsOnceAChunk) {
  auto request = plain_request(Transfer::kAllGather, 2, 0);
  request.chunk_bytes = kPlainBlockBytes / 2 / 4;
  request.calibration.h2d.latency_ns = figure(10'000);
  EXPECT_EQ(predicted(request).block_p50_ns, kPlainH2d / 2 + 4 * 10'000);
}

TEST(Prediction, LossBesideTransfers_LengthensComputeByTheirTime) {
  auto request = plain_request(Transfer::kRankLocal, 1, 20 * kMillisecond);
  request.calibration.compute.lost_beside_copy = figure(0.25);
  EXPECT_EQ(predicted(request).block_p50_ns, 20 * kMillisecond + kPlainH2d / 4);
  auto gathered = plain_request(Transfer::kAllGather, 2, 20 * kMillisecond);
  gathered.calibration.compute.lost_beside_gather = figure(0.5);
  const auto result = predicted(gathered);
  EXPECT_EQ(result.block_p50_ns, 20 * kMillisecond + kPlainGather / 2);
  EXPECT_EQ(result.lost_ns, 8 * kPlainGather / 2);
  EXPECT_EQ(result.bound, Resource::kCompute);
}

TEST(Prediction, SlowLaunches_BoundTheBlockByTheHost) {
  auto request = plain_request(Transfer::kResident, 1, kMillisecond);
  request.calibration.host.block_ns = figure(5e6);
  const auto result = predicted(request);
  EXPECT_EQ(result.block_p50_ns, 5 * kMillisecond);
  EXPECT_EQ(result.bound, Resource::kHost);
  EXPECT_DOUBLE_EQ(result.spent_share(Resource::kHost), 4.0 / 5.0);
}

TEST(Prediction, HostCosts_AddUpOverTheProtocol) {
  auto request = plain_request(Transfer::kRankLocal, 1, 0);
  request.calibration.host = {figure(100), figure(4'000), figure(0), figure(50'000)};
  const auto result = predicted(request);
  // A block: wait ready, launch, record free, wait free, copy, record ready; a forward: its record.
  const Nanoseconds block = 4 * 100 + 4'000 + 50'000;
  EXPECT_EQ(result.busy_ns.at(static_cast<std::size_t>(Resource::kHost)), 8 * block + 100);
}

TEST(Prediction, Shares_SumToTheWave) {
  for (const auto transfer : {Transfer::kResident, Transfer::kRankLocal, Transfer::kAllGather}) {
    auto request = plain_request(transfer, 4, kMillisecond + 77);
    request.calibration = builtin_calibration("h200").value();
    request.chunk_bytes = 256 * 1000;
    request.blocks[3].bytes *= 3;
    const auto result = predicted(request);
    EXPECT_EQ(std::accumulate(result.spent_ns.begin(), result.spent_ns.end(), Nanoseconds{0}),
              result.window_ns);
    EXPECT_NEAR(static_cast<double>(result.window_ns), static_cast<double>(result.wave_ns),
                0.001 * static_cast<double>(result.wave_ns));
    for (std::size_t r = 0; r < kResourceCount; ++r) {
      EXPECT_LE(result.spent_ns.at(r), result.window_ns);
      EXPECT_LE(result.busy_share(static_cast<Resource>(r)), 1.0);
    }
  }
}

TEST(Prediction, SameRequestTwice_SameResult) {
  auto request = plain_request(Transfer::kAllGather, 8, 1'234'567);
  request.calibration = builtin_calibration("h200").value();
  request.chunk_bytes = 256 * 500;
  request.prefetch_depth = 2;
  const auto once = predicted(request);
  const auto twice = predicted(request);
  EXPECT_EQ(once.wave_ns, twice.wave_ns);
  EXPECT_EQ(once.first_wave_ns, twice.first_wave_ns);
  EXPECT_EQ(once.block_p99_ns, twice.block_p99_ns);
  EXPECT_EQ(once.busy_ns, twice.busy_ns);
  EXPECT_EQ(once.spent_ns, twice.spent_ns);
}

TEST(Prediction, BadRequest_IsRefused) {
  const auto refused = [](auto change) {
    auto request = plain_request(Transfer::kAllGather, 4, 0);
    change(request);
    const auto result = predict(request);
    return result.ok() ? std::string("accepted") : result.refusal().code;
  };
  EXPECT_EQ(refused([](auto& r) { r.ranks = 0; }), "invalid_value");
  EXPECT_EQ(refused([](auto& r) { r.ranks = 16; }), "invalid_value");  // no rate for so many
  EXPECT_EQ(refused([](auto& r) { r.group_size = 3; }), "invalid_value");
  EXPECT_EQ(refused([](auto& r) { r.blocks.clear(); }), "invalid_value");
  EXPECT_EQ(refused([](auto& r) { r.blocks[0].bytes = 0; }), "invalid_value");
  EXPECT_EQ(refused([](auto& r) { r.chunk_bytes = 100; }), "invalid_value");
  EXPECT_EQ(refused([](auto& r) { r.chunk_bytes = 256; }),
            "invalid_value");  // too many to simulate
  EXPECT_EQ(refused([](auto& r) { r.prefetch_depth = 5; }), "invalid_value");
  EXPECT_EQ(refused([](auto& r) { r.input_slots = 0; }), "invalid_value");
  EXPECT_EQ(refused([](auto& r) { r.forwards = 0; }), "invalid_value");
}

}  // namespace
}  // namespace dlo::engine
