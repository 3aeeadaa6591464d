// Goal: enable() is all or nothing over the weight group: one rank's refusal is every rank's
// refusal, under one code, within the deadline, with nothing swapped and nothing left.
// Method: RapidCheck draws a group, the rank that fails and the allocation that fails on it.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/codes.h"
#include "platform/fault/pin_fails_device.h"
#include "tests/property/backend/synthetic_job.h"

namespace dlo::test {
namespace {

// Refuses the n-th device allocation.
class DeviceMemoryRunsOut final : public platform::ForwardingDevice {
 public:
  DeviceMemoryRunsOut(std::unique_ptr<platform::Device> inner, std::uint32_t nth)
      : ForwardingDevice(std::move(inner)), left_(nth) {}

  Result<std::unique_ptr<platform::DeviceBuffer>> allocate_device(
      std::uint64_t bytes, platform::MemoryPurpose purpose) override {
    if (left_ > 0 && --left_ == 0) {
      return refuse(codes::kDeviceOutOfMemory, "told to refuse", "device", "none");
    }
    return inner().allocate_device(bytes, purpose);
  }

 private:
  std::uint32_t left_;
};

SyntheticJob base_job(int ranks) {
  SyntheticJob job;
  job.shape = synthetic::draw_shape(5, {3, 4});
  job.ranks = ranks;
  job.config = streaming_config(static_cast<std::uint32_t>(ranks), 1, 512);
  job.requests = whole_walks(2, 1, 1);
  job.timeout = 10 * kSecond;
  return job;
}

void expect_all_ended_untouched(const std::vector<RankOutcome>& ranks, std::string_view code) {
  for (const auto& rank : ranks) {
    EXPECT_EQ(rank.code, code) << rank.text();
    EXPECT_TRUE(rank.untouched_after) << rank.text();
    EXPECT_EQ(rank.bytes_left, 0U) << rank.text();
    EXPECT_EQ(rank.findings.computed_blocks, 0U) << rank.text();
    EXPECT_EQ(rank.measured, backend::Traffic{}) << "no prime before a unanimous yes";
    EXPECT_EQ(std::count(rank.steps.begin(), rank.steps.end(), "commit"), 0);
  }
}

RC_GTEST_PROP(Vote, OneRankCannotPin_EveryRankEndsWithPinFailed, ()) {
  const auto ranks = *rc::gen::inRange(2, 5);
  const auto failing = *rc::gen::inRange(0, ranks);
  auto job = base_job(ranks);
  job.decorate =
      [failing](int rank,
                std::unique_ptr<platform::Device> device) -> std::unique_ptr<platform::Device> {
    if (rank != failing) {
      return device;
    }
    return std::make_unique<platform::PinFailsDevice>(std::move(device), 0);
  };
  expect_all_ended_untouched(run_job(job), codes::kPinFailed);
  RC_ASSERT(!testing::Test::HasFailure());
}

RC_GTEST_PROP(Vote, OneRankOutOfDeviceMemory_EveryRankEndsWithItsCode, ()) {
  const auto ranks = *rc::gen::inRange(2, 5);
  const auto failing = *rc::gen::inRange(0, ranks);
  const auto nth = *rc::gen::inRange(1U, 6U);  // two slots, two input slots, non-block children
  auto job = base_job(ranks);
  job.decorate =
      [failing, nth](
          int rank, std::unique_ptr<platform::Device> device) -> std::unique_ptr<platform::Device> {
    if (rank != failing) {
      return device;
    }
    return std::make_unique<DeviceMemoryRunsOut>(std::move(device), nth);
  };
  expect_all_ended_untouched(run_job(job), codes::kDeviceOutOfMemory);
  RC_ASSERT(!testing::Test::HasFailure());
}

TEST(Vote, RankLocalReplicaThatCannotPin_EndsAlone) {
  auto job = base_job(2);
  job.config = streaming_config(1, 1, 0);
  job.decorate = [](int rank,
                    std::unique_ptr<platform::Device> device) -> std::unique_ptr<platform::Device> {
    if (rank != 1) {
      return device;
    }
    return std::make_unique<platform::PinFailsDevice>(std::move(device), 0);
  };
  const auto ranks = run_job(job);
  EXPECT_EQ(ranks[1].code, codes::kPinFailed);
  EXPECT_TRUE(ranks[1].untouched_after);
}

}  // namespace
}  // namespace dlo::test
