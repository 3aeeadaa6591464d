// Goal: what a rank reports arrives at rank 0 unchanged, and two different requests never have the
// same agreement text.
// Method: a report with every field away from its default, there and back.
#include "engine/run_report_json.h"

#include <gtest/gtest.h>

namespace dlo::engine {
namespace {

RankReport full_report() {
  RankReport report;
  report.rank = 3;
  report.coordinates = {1, 2, 3};
  report.effective.transfer = contracts::Transfer::kAllGather;
  report.effective.pinned = true;
  report.effective.group_size = 4;
  report.effective.prefetch_depth = 2;
  report.effective.chunk_bytes = 4096;
  report.effective.streamed_block_count = 7;
  report.effective.resident_block_count = 1;
  report.effective.downgrades = {{"pin_disabled", "pinning is off"}};
  report.owned = {.host_private_now = 1,
                  .host_private_peak = 2,
                  .pinned_now = 3,
                  .pinned_peak = 4,
                  .device_now = 5,
                  .device_peak = 6,
                  .device_in_host = 60,
                  .device_limit = 7,
                  .host_private_limit = 8,
                  .component_now = 80,
                  .component_peak = 81};
  report.mapped_files = {{"/m/a.safetensors", 1, 2}};
  report.baseline = {.rss_bytes = 90, .pss_file_bytes = 91};
  report.process = {9, 10, 11, 12, 13};
  report.weight_bytes = 14;
  report.traffic = {12, 13, 14, 15, 16, 17, 18, 19};
  report.outputs = {{0, "aa"}, {3, "bb"}};
  report.forward_ms = {1.5, 2.5};
  report.events = {"device", "enable"};
  report.resources = ResourceChange{};
  std::uint64_t figure = 19;
  for (auto* counts : {&report.resources->before, &report.resources->after}) {
    for (const auto& row : telemetry::resource_rows()) {
      counts->*row.figure = figure++;
    }
  }
  report.abandoned_buffers = true;
  report.gather = "nccl";
  return report;
}

TEST(RunReportJson, NamesOfWhatHasGrown_ReachTheRankThatJudges) {
  ResourceChange change;
  change.before.descriptors = 1;
  change.before.descriptor_names = {"/dev/null"};
  change.after.descriptors = 2;
  change.after.descriptor_names = {"/dev/null", "/out/a"};
  const auto json = resources_to_json(change);
  EXPECT_EQ(json.at("new").dump(), R"({"descriptors":["/out/a"]})");
  const auto back = resources_from_json(json);
  EXPECT_EQ(telemetry::grown_resources(back->before, back->after),
            telemetry::grown_resources(change.before, change.after));
  change.after = change.before;
  EXPECT_FALSE(resources_to_json(change).contains("new"));
}

TEST(RunReportJson, RankReport_RoundTrips) {
  const auto json = rank_report_to_json(full_report());
  const auto back = rank_report_from_json(json);
  EXPECT_EQ(rank_report_to_json(back), json);
  EXPECT_EQ(back.effective, full_report().effective);
  EXPECT_EQ(back.owned.host_private_limit, 8U);
  EXPECT_EQ(back.owned.device_in_host, 60U);
  EXPECT_EQ(back.owned.component_now, 80U);
  EXPECT_EQ(back.owned.component_peak, 81U);
  EXPECT_EQ(back.baseline.pss_file_bytes, 91U);
  EXPECT_EQ(back.weight_bytes, 14U);
  EXPECT_EQ(back.mapped_files, full_report().mapped_files);
  EXPECT_EQ(back.traffic.forward_count, 18U);
  EXPECT_EQ(back.traffic.repairs, 19U);
  EXPECT_EQ(back.outputs.at(1).sha256, "bb");
  ASSERT_TRUE(back.resources.has_value());
  EXPECT_EQ(back.resources->before, full_report().resources->before);
  EXPECT_EQ(back.resources->after, full_report().resources->after);
  EXPECT_TRUE(back.abandoned_buffers);
  EXPECT_EQ(back.gather, "nccl");
}

TEST(RunReportJson, UnknownTransfer_IsALogicError) {
  auto json = rank_report_to_json(full_report());
  json["effective"]["transfer"] = "telepathy";
  EXPECT_THROW(static_cast<void>(rank_report_from_json(json)), LogicError);
}

TEST(RunReportJson, RequestsThatDifferInOneField_HaveDifferentTexts) {
  const RunRequest base;
  auto seeded = base;
  seeded.requests.seed = 1;
  auto deeper = base;
  deeper.options.dlo_prefetch_depth = 2;
  auto wider = base;
  wider.parallel.data_parallel_size = 2;
  auto slower = base;
  slower.platform.slow_copy_ns = 1;
  auto prompted = base;
  prompted.requests.prompt_tokens = {1};
  auto drawn = base;
  drawn.requests.prompt_token_count = 1;
  for (const auto& other : {seeded, deeper, wider, slower, prompted, drawn}) {
    EXPECT_NE(request_to_json(base), request_to_json(other));
  }
}

}  // namespace
}  // namespace dlo::engine
