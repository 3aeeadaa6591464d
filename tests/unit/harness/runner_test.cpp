// Goal: the runner walks a plan in order, judges each run against its reference, keeps numbers of
// insane runs out of the results and stops when the world broke. Method: a fake run function.
#include "harness/runner.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "base/codes.h"
#include "tests/unit/harness/harness_fixtures.h"

namespace dlo::harness {
namespace {

Json two_transfers() {
  Json document = small_document();
  document["matrix"] = {{"transfer", {"resident", "rank_local"}}};
  document["compare_with"] = "resident";
  return document;
}

class FakeEngine {
 public:
  explicit FakeEngine(const Json& document = two_transfers())
      : progress_(log_, /*terminal=*/false, /*speaks=*/true) {
    plan_ = plan_sweep(read_scenarios(document, {.file = "small.json", .run_seed = 0}).value(), 1);
    for (const PlannedScenario& step : plan_.steps) {
      reports_[step.scenario.name] = good_report(step.scenario);
    }
  }

  engine::RunReport& report(const std::string& name) { return reports_.at(name); }
  std::string log() const { return log_.str(); }
  // Requests in order, by name; those with a fault have a '!'.
  const std::vector<std::string>& asked() const { return asked_; }

  RunnerResult walk() {
    return run_plan(plan_, RunnerSeams{.prepare_model =
                                           [](const ModelChoice&) {
                                             return Result<platform::Path>(platform::Path("model"));
                                           },
                                       .run =
                                           [this](const engine::RunRequest& request) {
                                             EXPECT_EQ(request.model.checkpoint, "model");
                                             const bool faulty = request.platform.slow_copy_ns > 0;
                                             asked_.push_back(request.name + (faulty ? "!" : ""));
                                             const auto found = reports_.find(request.name);
                                             return found == reports_.end() ? engine::RunReport{}
                                                                            : found->second;
                                           },
                                       .progress = progress_});
  }

 private:
  Plan plan_;
  std::map<std::string, engine::RunReport> reports_;
  std::vector<std::string> asked_;
  std::ostringstream log_;
  Progress progress_;
};

TEST(Runner, GoodRuns_PassQuietlyWithFigures) {
  FakeEngine engine;
  const RunnerResult result = engine.walk();
  ASSERT_EQ(result.scenarios.size(), 2U);
  EXPECT_TRUE(result.scenarios[0].passed);
  EXPECT_TRUE(result.scenarios[1].passed);
  EXPECT_EQ(result.scenarios[1].bytes_equal, true);
  EXPECT_EQ(result.scenarios[1].compared_with, "small/resident");
  EXPECT_FALSE(result.scenarios[1].metrics.empty());
  EXPECT_TRUE(result.scenarios[1].ranks[0].contains("traffic"));
  EXPECT_EQ(engine.log(), "");
}

TEST(Runner, InsaneRun_HasNoNumbersAndOneLine) {
  FakeEngine engine;
  engine.report("small/rank_local").ranks[0].outputs[0].sha256 = "other";
  const RunnerResult result = engine.walk();
  const ScenarioResult& fell_short = result.scenarios[1];
  EXPECT_FALSE(fell_short.passed);
  EXPECT_TRUE(fell_short.metrics.empty());
  EXPECT_FALSE(fell_short.ranks[0].contains("traffic"));
  EXPECT_FALSE(fell_short.ranks[0].contains("forward_ms"));
  EXPECT_NE(engine.log().find("fell short: small/rank_local: output bytes of request 0"),
            std::string::npos)
      << engine.log();
}

TEST(Runner, BrokenWorld_EndsTheWalk) {
  FakeEngine engine;
  engine.report("small/resident").world_usable = false;
  engine.report("small/resident").outcome = engine::Outcome::kFailsClosed;
  engine.report("small/resident").code = codes::kPeerFailed;
  const RunnerResult result = engine.walk();
  EXPECT_EQ(result.scenarios.size(), 1U);
  ASSERT_TRUE(result.broken.has_value());
  EXPECT_EQ(result.broken->code, codes::kPeerFailed);
}

Json slow_document() {
  Json document = small_document();
  document["matrix"] = {{"faults.slow_copy_ns", {1, 2}}};
  document["faults"] = {{"slow_copy_ns", 1}};
  document["transfer"] = "rank_local";
  return document;
}

TEST(Runner, Faults_AreMetByAProcessThatRanTheSameWithoutThem) {
  FakeEngine engine(slow_document());
  EXPECT_EQ(engine.walk().scenarios.size(), 2U);
  EXPECT_EQ(engine.asked(), (std::vector<std::string>{"without faults", "small/slow_copy_ns=1!",
                                                      "small/slow_copy_ns=2!"}));
}

TEST(Runner, FaultAfterWhichARankHoldsMore_FallsShort) {
  FakeEngine engine(slow_document());
  engine.report("small/slow_copy_ns=2").ranks[0].resources->after.descriptors = 1;
  const RunnerResult result = engine.walk();
  EXPECT_TRUE(result.scenarios[0].passed) << result.scenarios[0].failed_checks.front();
  EXPECT_FALSE(result.scenarios[1].passed);
  EXPECT_EQ(result.scenarios[1].failed_checks,
            std::vector<std::string>{"rank 0: leaked descriptors: 0 before, 1 after"});
}

}  // namespace
}  // namespace dlo::harness
