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

class FakeEngine {
 public:
  FakeEngine() : progress_(log_, /*terminal=*/false, /*speaks=*/true) {
    Json document = small_document();
    document["matrix"] = {{"transfer", {"resident", "rank_local"}}};
    document["compare_with"] = "resident";
    plan_ = plan_sweep(read_scenarios(document, {.file = "small.json", .run_seed = 0}).value(), 1);
    for (const PlannedScenario& step : plan_.steps) {
      reports_[step.scenario.name] = good_report(step.scenario);
    }
  }

  engine::RunReport& report(const std::string& name) { return reports_.at(name); }
  std::string log() const { return log_.str(); }

  RunnerResult walk() {
    return run_plan(plan_, RunnerSeams{.prepare_model =
                                           [](const ModelChoice&) {
                                             return Result<platform::Path>(platform::Path("model"));
                                           },
                                       .run =
                                           [this](const engine::RunRequest& request) {
                                             EXPECT_EQ(request.model.checkpoint, "model");
                                             return reports_.at(request.name);
                                           },
                                       .progress = progress_});
  }

 private:
  Plan plan_;
  std::map<std::string, engine::RunReport> reports_;
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

}  // namespace
}  // namespace dlo::harness
