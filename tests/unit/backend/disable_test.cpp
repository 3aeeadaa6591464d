// Goal: I9: disable() is idempotent and safe in any half-built state, never throws, and takes
// things apart in one recorded order.
// Method: one rank on a recording device, disabled before, during and after a run.
#include <gtest/gtest.h>

#include "tests/unit/backend/backend_fixture.h"

namespace dlo::backend {
namespace {

using test::BackendFixture;

const std::vector<std::string> kTakenApart = {"disable: drain streams", "disable: placeholders",
                                              "disable: end hot path", "disable: free buffers"};

std::vector<std::string> disable_steps(const OffloadBackend& backend) {
  std::vector<std::string> steps;
  for (const auto& step : backend.steps()) {
    if (step.starts_with("disable")) {
      steps.push_back(step);
    }
  }
  return steps;
}

TEST(Disable, BeforeEnable_DoesNothingTwice) {
  BackendFixture fixture(test::rank_local_config());
  EXPECT_TRUE(fixture.backend->disable().empty());
  EXPECT_TRUE(fixture.backend->disable().empty());
  EXPECT_TRUE(fixture.model.untouched());
}

TEST(Disable, AfterEnable_TakesApartInOrderOnce) {
  for (const auto& config :
       {test::rank_local_config(), test::all_gather_config(), config::OffloadConfig{}}) {
    BackendFixture fixture(config);
    ASSERT_TRUE(fixture.backend->enable().ok());
    EXPECT_TRUE(fixture.backend->disable().empty());
    EXPECT_TRUE(fixture.backend->disable().empty());
    EXPECT_EQ(disable_steps(*fixture.backend), kTakenApart);
    EXPECT_TRUE(fixture.model.untouched());
    EXPECT_EQ(fixture.bytes_in_use(), 0U);
    EXPECT_EQ(fixture.backend->observer(0), nullptr);
    EXPECT_TRUE(fixture.backend->end_request().ok()) << "nothing is left to wait for";
  }
}

TEST(Disable, AfterAThrowInsideAForward_FreesEverything) {
  BackendFixture fixture(test::rank_local_config());
  ASSERT_TRUE(fixture.backend->enable().ok());
  auto* observer = fixture.backend->observer(0);
  observer->before_block(0);
  fixture.device.fail(refuse(codes::kCopyFailed, "broken link", "copy", "none"));
  EXPECT_THROW(observer->after_block(0), RunError);
  EXPECT_TRUE(fixture.backend->disable().empty());
  EXPECT_TRUE(fixture.model.untouched());
  EXPECT_EQ(fixture.bytes_in_use(), 0U);
}

TEST(Disable, StreamThatNeverEnds_LeavesItsBuffersToTheProcessAndSaysSo) {
  // Never destroyed: the buffers that the backend gives up stay reachable through the device.
  static auto& fixture = *new BackendFixture(test::rank_local_config());
  ASSERT_TRUE(fixture.backend->enable().ok());
  const auto in_use = fixture.bytes_in_use();
  fixture.device.hang();
  const auto problems = fixture.backend->disable();
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_NE(problems[0].find("still busy"), std::string::npos);
  EXPECT_TRUE(fixture.model.untouched());
  EXPECT_EQ(fixture.bytes_in_use(), in_use) << "freed under a busy stream";
}

TEST(Disable, ByTheDestructor_FreesEverything) {
  BackendFixture fixture(test::rank_local_config());
  ASSERT_TRUE(fixture.backend->enable().ok());
  fixture.backend.reset();
  EXPECT_TRUE(fixture.model.untouched());
  EXPECT_EQ(fixture.bytes_in_use(), 0U);
}

TEST(Disable, Counts_SurviveIt) {
  BackendFixture fixture(test::rank_local_config());
  ASSERT_TRUE(fixture.backend->enable().ok());
  fixture.model.run(fixture.device, 1, fixture.backend->observer(1));  // group-first entry
  const auto planned = fixture.backend->planned_traffic({0, 1});
  EXPECT_EQ(fixture.backend->repair_count(), 1U);
  static_cast<void>(fixture.backend->disable());
  EXPECT_EQ(fixture.backend->repair_count(), 1U);
  EXPECT_EQ(fixture.backend->planned_traffic({0, 1}), planned);
}

TEST(EndRequest, TailPrefetch_IsAwaitedOnTheHostAndStaysWarm) {
  BackendFixture fixture(test::rank_local_config());
  ASSERT_TRUE(fixture.backend->enable().ok());
  for (int request = 0; request < 2; ++request) {
    fixture.model.run(fixture.device, 0, fixture.backend->observer(0));
    ASSERT_TRUE(fixture.backend->end_request().ok());
  }
  EXPECT_EQ(fixture.backend->repair_count(), 0U);
  EXPECT_TRUE(fixture.model.findings().clean()) << fixture.model.findings().first;
}

TEST(EndRequest, FailedDevice_IsReportedWithItsCode) {
  BackendFixture fixture(test::rank_local_config());
  ASSERT_TRUE(fixture.backend->enable().ok());
  fixture.device.fail(refuse(codes::kCopyFailed, "broken link", "copy", "none"));
  const auto status = fixture.backend->end_request();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.refusal().code, codes::kCopyFailed);
}

}  // namespace
}  // namespace dlo::backend
