// Goal: a throughput scenario is read into arms, its reports become figures with limits from the
// same run, arms that differ fall short, absent GPUs are skipped with a reason, and the comparison
// of two results shows what was measured.
// Method: reports made by hand, with round numbers.
#include <gtest/gtest.h>

#include "base/codes.h"
#include "harness/compare.h"
#include "harness/expectations.h"
#include "harness/plan.h"
#include "harness/runner.h"
#include "harness/throughput_metrics.h"
#include "tests/unit/harness/throughput_fixtures.h"

namespace dlo::harness {
namespace {

Refusal refusal_of(const Json& bad) {
  auto scenarios = read_scenarios(bad, {.file = "timed.json", .run_seed = 7});
  EXPECT_FALSE(scenarios.ok());
  return scenarios.ok() ? Refusal{} : scenarios.refusal();
}

double metric(const ScenarioResult& result, std::string_view name) {
  for (const Metric& row : result.metrics) {
    if (row.name == name) {
      return row.value;
    }
  }
  ADD_FAILURE() << "no metric " << name;
  return 0;
}

TEST(ThroughputScenario, Arms_TakeTheirOptionsOverTheScenarios) {
  const Scenario scenario = scenario_from(timed_document());
  ASSERT_TRUE(scenario.throughput.has_value());
  const auto& arms = scenario.throughput->arms;
  ASSERT_EQ(arms.size(), 3U);  // "alone" is for one rank
  EXPECT_EQ(arms[1].name, "streamed");
  EXPECT_TRUE(arms[1].options.dlo_use_allgather);
  EXPECT_EQ(arms[1].options.dlo_prefetch_depth, 2);
  EXPECT_EQ(arms[1].options.dlo_chunk_bytes, 4096);
  EXPECT_EQ(scenario.options, arms[0].options);
  EXPECT_EQ(scenario.requests.count, 2U);
}

TEST(ThroughputScenario, WrongOnes_AreRefused) {
  Json both = timed_document();
  both["transfer"] = "resident";
  EXPECT_EQ(refusal_of(both).code, codes::kInvalidValue);
  Json twice = timed_document();
  twice["measure_forwards"]["arms"][1]["name"] = "resident";
  EXPECT_EQ(refusal_of(twice).code, codes::kInvalidValue);
  Json misspelt = timed_document();
  misspelt["measure_forwards"]["arms"][1]["options"]["dlo_prefetch_dept"] = 1;
  EXPECT_EQ(refusal_of(misspelt).code, codes::kUnknownOption);
  Json unknown = timed_document();
  unknown["measure"] = Json::array({{{"metric", "nobody.forward_ms"}, {"reference", 1}}});
  EXPECT_EQ(refusal_of(unknown).code, codes::kUnknownOption);
  unknown["measure"][0]["metric"] = "streamed.forward_ms";
  EXPECT_TRUE(read_scenarios(unknown, {.file = "timed.json", .run_seed = 7}).ok());
}

TEST(ThroughputScenario, ArithmeticAndAttention_ReachLabelAndResult) {
  Json fused = timed_document();
  fused["model"]["compute_dtype"] = "BF16";
  fused["model"]["attention"] = "fused";
  const Scenario scenario = scenario_from(fused);
  EXPECT_EQ(scenario.model.label(), "wan_tiny, 3 blocks, F32, BF16 arithmetic, fused attention");
  const auto result = make_result(scenario, timed_report(scenario), std::nullopt);
  EXPECT_EQ(result.attention, "fused");
  EXPECT_EQ(result.compute_dtype, "BF16");
}

TEST(ThroughputMetrics, Figures_ComeWithTheLimitsOfTheirRun) {
  const Scenario scenario = scenario_from(timed_document());
  const auto result = make_result(scenario, timed_report(scenario), std::nullopt);
  ASSERT_TRUE(result.passed) << result.failed_checks.front();
  EXPECT_EQ(metric(result, "streamed.forward_ms"), 114.5);  // the slowest rank
  EXPECT_NEAR(metric(result, "streamed.slowdown_percent"), 12 / 102.5 * 100, 1e-9);
  // max(5 GB at 50 GB/s, 10 GB gathered at 400 GB/s) = 100 ms: of the rates before and behind a
  // round the better one. The forwards take 112 to 117 ms.
  EXPECT_NEAR(metric(result, "streamed.link_share_percent"), (100 / 1.14 + 100 / 1.15) / 2, 1e-9);
  EXPECT_EQ(metric(result, "streamed.dispatch_p50_us"), 5);
  EXPECT_EQ(metric(result, "streamed.pinned_per_weight"), 1);
  EXPECT_EQ(metric(result, "streamed.hbm_used_bytes"), 710);
  EXPECT_EQ(metric(result, "streamed.power_w"), 675);
  EXPECT_NEAR(metric(result, "streamed.prediction_ratio"), 56 / 114.5, 1e-9);
  EXPECT_EQ(metric(result, "noise_floor_percent"), 0);
  EXPECT_EQ(result.bytes_equal, true);
  EXPECT_EQ(result.compared_with, "resident");
  for (const Metric& row : result.metrics) {
    if (row.name == "streamed.slowdown_percent") {
      EXPECT_NEAR(*row.limit, (3 * 0.5 / 102.5 + 0.002) * 100, 1e-9);
    }
    if (row.name == "streamed.h2d_p50_ms") {
      EXPECT_NEAR(*row.limit, 5e9 / 3 / 50e9 * 1e3, 1e-9) << "of three blocks, at the best rate";
    }
    EXPECT_EQ(row.name == "streamed.compute_p50_ms" && !row.limit, false) << "the baseline's";
    EXPECT_EQ(row.name == "resident.compute_p50_ms" && row.limit, false) << "it is the baseline";
    if (row.name == "streamed.power_w") {
      EXPECT_EQ(*row.limit, 710) << "of the rank that takes most";
    }
  }
}

TEST(ThroughputMetrics, LinkThatSlowsDown_IsTheLimitOfTheRoundsThatSawIt) {
  const Scenario scenario = scenario_from(timed_document());
  auto report = timed_report(scenario);
  for (auto& rank : report.ranks) {
    engine::ThroughputReport changed = *rank.throughput;
    changed.calibration.link_bytes_per_s = {50e9, 50e9, 50e9, 50e9, 45e9, 45e9, 45e9};
    rank.throughput = std::make_shared<engine::ThroughputReport>(changed);
  }
  const auto result = make_result(scenario, report, std::nullopt);
  ASSERT_TRUE(result.passed) << result.failed_checks.front();
  // 100 ms over 112 to 115 ms, then 111.1 ms over 116 and 117 ms.
  EXPECT_NEAR(metric(result, "streamed.link_share_percent"), (100 / 1.13 + 100 / 1.12) / 2, 1e-9);
}

TEST(ThroughputMetrics, RunThatWasNotCalibrated_HasNoLinkShare) {
  const Scenario scenario = scenario_from(timed_document());
  auto report = timed_report(scenario);
  for (auto& rank : report.ranks) {
    engine::ThroughputReport changed = *rank.throughput;
    changed.calibration = {};
    rank.throughput = std::make_shared<engine::ThroughputReport>(changed);
  }
  const auto result = make_result(scenario, report, std::nullopt);
  for (const Metric& row : result.metrics) {
    EXPECT_NE(row.name, "streamed.link_share_percent");
  }
}

TEST(ThroughputMetrics, StagedArm_IsHeldAgainstTheBareLoopOfItsRun) {
  const Scenario scenario = scenario_from(timed_document());
  auto report = bent_arm(timed_report(scenario), 0, 1, [](engine::ArmMeasurement& arm) {
    arm.rank.effective.transfer = contracts::Transfer::kStaged;
  });
  engine::ThroughputReport calibrated = *report.ranks[0].throughput;
  calibrated.calibration.figures.push_back(
      {"pack_copy_bytes_per_s", "bytes/s", 50e9, 40e9, 60e9, 8});
  // 5 GB in 100 ms at the better rate around the first four rounds, in 111.1 ms around the others.
  calibrated.calibration.pack_copy_bytes_per_s = {40e9, 50e9, 40e9, 50e9, 45e9, 45e9, 40e9};
  report.ranks[0].throughput = std::make_shared<engine::ThroughputReport>(calibrated);
  const auto result = make_result(scenario, report, std::nullopt);
  EXPECT_EQ(metric(result, "pack_copy_bytes_per_s"), 50e9);
  EXPECT_NEAR(metric(result, "streamed.pack_copy_share_percent"), (100 / 1.13 + 100 / 1.12) / 2,
              1e-9);
}

TEST(ThroughputChecks, OtherBytesOrLedgers_FallShortAndLeaveNoFigures) {
  const Scenario scenario = scenario_from(timed_document());
  for (const bool bytes : {true, false}) {
    const auto report =
        bent_arm(timed_report(scenario), 1, 1, [bytes](engine::ArmMeasurement& arm) {
          if (bytes) {
            arm.different_forwards = 1;
          } else {
            arm.rank.traffic.h2d_bytes = 1;
          }
        });
    std::vector<TraceFile> traces;
    const auto result = make_result(scenario, report, std::nullopt, &traces);
    EXPECT_TRUE(traces.empty());
    EXPECT_FALSE(result.passed);
    EXPECT_EQ(result.bytes_equal, !bytes);
    EXPECT_TRUE(result.metrics.empty());
    EXPECT_TRUE(result.throughput.is_null());
    EXPECT_NE(result.failed_checks.front().find("streamed, rank 1"), std::string::npos);
  }
}

TEST(ThroughputChecks, ForwardBelowItsLinkLimit_IsAFinding) {
  const Scenario scenario = scenario_from(timed_document());
  // 100 ms is the limit; on both ranks the forwards take `ms`.
  const auto judged = [&](double ms) {
    auto report = timed_report(scenario);
    for (const std::size_t rank : {0U, 1U}) {
      report = bent_arm(std::move(report), rank, 1,
                        [ms](engine::ArmMeasurement& arm) { arm.forward_ms.assign(6, {ms}); });
    }
    return make_result(scenario, report, std::nullopt);
  };
  EXPECT_TRUE(judged(99.5).passed);
  const auto result = judged(98.0);
  ASSERT_EQ(result.failed_checks.size(), 1U);
  EXPECT_NE(result.failed_checks[0].find("arm streamed: a forward takes 98.000 ms, below the "
                                         "100.000 ms"),
            std::string::npos)
      << result.failed_checks[0];
  EXPECT_TRUE(result.metrics.empty());
}

TEST(Measure, FigureAboveItsReference_IsToldInDigitsThatMeanSomething) {
  Json measured = timed_document();
  measured["measure"] = {{{"metric", "streamed.slowdown_percent"}, {"reference", 1}, {"upper", 0}}};
  const Scenario scenario = scenario_from(measured);
  const auto result = make_result(scenario, timed_report(scenario), std::nullopt);
  ASSERT_EQ(result.failed_checks.size(), 1U);
  EXPECT_EQ(result.failed_checks[0],
            "streamed.slowdown_percent is 11.7073 %, above what the reference 1 allows");
}

TEST(Measure, WithinLimit_HoldsAgainstTheRunsOwnLimit) {
  Json limited = timed_document();
  limited["measure"] = {{{"metric", "streamed.forward_ms"}, {"within_limit", true}}};
  const Scenario slow = scenario_from(limited);
  const auto above = make_result(slow, timed_report(slow), std::nullopt);
  ASSERT_EQ(above.failed_checks.size(), 1U);
  EXPECT_NE(
      above.failed_checks[0].find("streamed.forward_ms is 114.5 ms, above its limit of 102.5"),
      std::string::npos)
      << above.failed_checks[0];
  EXPECT_FALSE(above.metrics.empty()) << "a sane run's figures are recorded";
  limited["measure"][0]["metric"] = "resident.forward_ms";
  const Scenario equal = scenario_from(limited);
  EXPECT_TRUE(make_result(equal, timed_report(equal), std::nullopt).passed);
  limited["measure"][0]["metric"] = "streamed.forward_p99_ms";
  const Scenario unlimited = scenario_from(limited);
  EXPECT_EQ(make_result(unlimited, timed_report(unlimited), std::nullopt).failed_checks.at(0),
            "streamed.forward_p99_ms has no limit in this run");
  limited["measure"][0]["reference"] = 1;
  EXPECT_EQ(refusal_of(limited).code, codes::kInvalidValue);
  limited["measure"][0] = {{"metric", "streamed.forward_ms"}};
  EXPECT_EQ(refusal_of(limited).code, codes::kInvalidValue);
}

TEST(Plan, AbsentGpus_AreSkippedWithTheReason) {
  Json wanting = timed_document();
  wanting["platform"]["device"] = "cuda";
  const std::vector<Scenario> scenarios = {scenario_from(wanting)};
  EXPECT_EQ(plan_sweep(scenarios, 2).skipped.at(0).reason, "needs a GPU; this build has no CUDA");
  const AcceleratorCount one{.in_build = true, .count = 1};
  EXPECT_EQ(plan_sweep(scenarios, 2, one).skipped.at(0).reason,
            "a world of 2 ranks needs 2 GPUs, the machine has 1");
  EXPECT_TRUE(plan_run(scenarios, 2, one)->steps.empty());
  const AcceleratorCount two{.in_build = true, .count = 2};
  EXPECT_EQ(plan_sweep(scenarios, 2, two).steps.size(), 1U);
  EXPECT_TRUE(plan_sweep(scenarios, 3, two).steps.empty()) << "idle ranks have devices too";
  wanting["platform"]["share_devices"] = true;
  EXPECT_EQ(plan_sweep({scenario_from(wanting)}, 3, one).steps.size(), 1U);
}

TEST(ThroughputResults, File_KeepsRoundsAndTracesStandBeside) {
  const Scenario scenario = scenario_from(timed_document());
  const auto report = timed_report(scenario);
  Results results;
  std::vector<TraceFile> traces;
  results.scenarios = {make_result(scenario, report, std::nullopt, &traces)};
  const auto again = results_from_json(to_json(results), "here");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->scenarios[0].throughput, results.scenarios[0].throughput);
  EXPECT_EQ(again->scenarios[0].throughput.at("arms").at(1).at("forward_ms").size(), 6U);
  EXPECT_EQ(again->scenarios[0].gather, "copy_engine");
  ASSERT_EQ(traces.size(), 3U);
  EXPECT_EQ(traces[1].name, "timed.streamed.json");
  EXPECT_EQ(traces[1].timeline.rows.size(), 2U);
}

TEST(Compare, TwoRuns_ShowDifferenceIntervalAndNoise) {
  const Scenario scenario = scenario_from(timed_document());
  Results a;
  a.scenarios = {make_result(scenario, timed_report(scenario), std::nullopt)};
  engine::RunReport slower = timed_report(scenario);
  for (const std::size_t rank : {0U, 1U}) {
    slower = bent_arm(std::move(slower), rank, 1, [](engine::ArmMeasurement& arm) {
      for (auto& round : arm.forward_ms) {
        round[0] += 3;
      }
    });
  }
  slower.output_digest = "other";
  Results b;
  b.scenarios = {make_result(scenario, slower, std::nullopt)};
  const Comparison comparison = compare_results(a, b);
  const auto row = std::find_if(comparison.changed.begin(), comparison.changed.end(),
                                [](const auto& r) { return r.metric == "streamed.forward_ms"; });
  ASSERT_NE(row, comparison.changed.end());
  ASSERT_TRUE(row->difference.has_value());
  EXPECT_DOUBLE_EQ(row->difference->difference, 3);
  EXPECT_EQ(row->verdict(), "more");
  EXPECT_EQ(comparison.remarks.at(0), "timed: output bytes differ");
  EXPECT_TRUE(compare_results(a, a).changed.empty());
  EXPECT_GT(compare_results(a, a).equal_count, 10U);
  EXPECT_NE(comparison_text(comparison).find("streamed.forward_ms"), std::string::npos);
  b.scenarios[0].attention = "fused";
  EXPECT_NE(compare_results(a, b).remarks.at(0).find("not compared"), std::string::npos);
  EXPECT_EQ(comparison_json(comparison).at("changed").size(), comparison.changed.size());
}

TEST(Compare, OtherGatherOrFigures_AreRemarked) {
  const Scenario scenario = scenario_from(timed_document());
  Results a;
  a.scenarios = {make_result(scenario, timed_report(scenario), std::nullopt)};
  Results b = a;
  b.scenarios[0].gather = "nccl";
  b.scenarios[0].output_digest = "other";
  const auto gathers = compare_results(a, b);
  ASSERT_EQ(gathers.remarks.size(), 1U);
  EXPECT_NE(gathers.remarks[0].find("not compared"), std::string::npos);
  EXPECT_NE(gathers.remarks[0].find("gathered by nccl in B"), std::string::npos);
  b = a;
  b.scenarios[0].metrics.pop_back();
  const std::string name = a.scenarios[0].metrics.back().name;
  EXPECT_EQ(compare_results(a, b).remarks.at(0), "timed: B has no " + name);
  EXPECT_EQ(compare_results(b, a).remarks.at(0), "timed: A has no " + name);
}

}  // namespace
}  // namespace dlo::harness
