// Goal: the oracle bites: every event wait and every event record of the hot path, dropped by its
// label, and one wrong byte in a copy, is detected; the unmutated program passes the same jobs.
// Method: MutantDevice between the backend and a CPU device with one slow stage.
#include <gtest/gtest.h>

#include "tests/mutants/mutant_jobs.h"
#include "tests/support/mutant_device.h"
#include "tests/support/protocol_guards.h"

namespace dlo::test {
namespace {

using platform::OpLabel;
using platform::Site;
using test_support::at_site;
using test_support::Mutation;

// `slow` below, the mutant above it: the delays stay, the wait goes.
Decorate mutated(const Decorate& slow, const Mutation& mutation) {
  return [slow, mutation](
             int rank,
             std::unique_ptr<platform::Device> device) -> std::unique_ptr<platform::Device> {
    return std::make_unique<test_support::MutantDevice>(slow(rank, std::move(device)), mutation);
  };
}

// `gather_only`: the site exists in AllGather jobs alone.
void expect_always_detected(const Decorate& slow, const Mutation& mutation, bool gather_only) {
  for (const auto& [name, job] : mutant_jobs(mutated(slow, mutation))) {
    if (gather_only && job.ranks == 1) {
      continue;
    }
    std::string why;
    EXPECT_TRUE(detected(job, why)) << "survived: " << name;
  }
}

TEST(DecoratorMutants, NoMutation_EveryJobPasses) {
  for (const auto& slow : {slow_copies(), slow_computes(), slow_gathers()}) {
    for (const auto& [name, job] : mutant_jobs(slow)) {
      std::string why;
      EXPECT_FALSE(detected(job, why)) << name << ": " << why;
    }
  }
}

TEST(DecoratorMutants, ReadyWaitSkipped_IsDetected) {
  expect_always_detected(slow_copies(), Mutation{at_site(Site::kReadyWait), {}, {}}, false);
}

TEST(DecoratorMutants, FreeWaitSkipped_IsDetected) {
  expect_always_detected(slow_computes(), Mutation{at_site(Site::kFreeWait), {}, {}}, false);
}

TEST(DecoratorMutants, LandedWaitSkipped_IsDetected) {
  expect_always_detected(slow_copies(), Mutation{at_site(Site::kLandedWait), {}, {}}, true);
}

TEST(DecoratorMutants, InputFreeWaitSkipped_IsDetected) {
  expect_always_detected(slow_gathers(), Mutation{at_site(Site::kInputFreeWait), {}, {}}, true);
}

TEST(DecoratorMutants, InputFreeRecordSkipped_IsDetected) {
  expect_always_detected(slow_gathers(), Mutation{{}, at_site(Site::kInputFreeRecord), {}}, true);
}

TEST(DecoratorMutants, ReadyRecordSkipped_IsDetected) {
  expect_always_detected(slow_copies(), Mutation{{}, at_site(Site::kReadyRecord), {}}, false);
}

TEST(DecoratorMutants, FreeRecordSkipped_IsDetected) {
  expect_always_detected(slow_computes(), Mutation{{}, at_site(Site::kFreeRecord), {}}, false);
}

TEST(DecoratorMutants, LandedRecordSkipped_IsDetected) {
  expect_always_detected(slow_copies(), Mutation{{}, at_site(Site::kLandedRecord), {}}, true);
}

TEST(DecoratorMutants, OneWrongByteInACopy_IsDetected) {
  const auto second_block = [](const OpLabel& label) {
    return label.site == Site::kH2d && label.block == 1;
  };
  expect_always_detected(slow_copies(), Mutation{{}, {}, second_block}, false);
}

}  // namespace
}  // namespace dlo::test
