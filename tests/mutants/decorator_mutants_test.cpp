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

// The jobs in which a site exists.
enum class In { kAll, kGather, kStaging };

void expect_always_detected(const Decorate& slow, const Mutation& mutation, In where) {
  for (const auto& [name, job] : mutant_jobs(mutated(slow, mutation))) {
    if ((where == In::kGather && job.ranks == 1) || (where == In::kStaging && !job.mapped)) {
      continue;
    }
    std::string why;
    EXPECT_TRUE(detected(job, why)) << "survived: " << name;
  }
}

TEST(DecoratorMutants, NoMutation_EveryJobPasses) {
  for (const auto& slow : {slow_copies(), slow_computes(), slow_gathers(), slow_packs()}) {
    for (const auto& [name, job] : mutant_jobs(slow)) {
      std::string why;
      EXPECT_FALSE(detected(job, why)) << name << ": " << why;
    }
  }
}

TEST(DecoratorMutants, ReadyWaitSkipped_IsDetected) {
  expect_always_detected(slow_copies(), Mutation{at_site(Site::kReadyWait), {}, {}}, In::kAll);
}

TEST(DecoratorMutants, FreeWaitSkipped_IsDetected) {
  expect_always_detected(slow_computes(), Mutation{at_site(Site::kFreeWait), {}, {}}, In::kAll);
}

TEST(DecoratorMutants, LandedWaitSkipped_IsDetected) {
  expect_always_detected(slow_copies(), Mutation{at_site(Site::kLandedWait), {}, {}}, In::kGather);
}

TEST(DecoratorMutants, InputFreeWaitSkipped_IsDetected) {
  expect_always_detected(slow_gathers(), Mutation{at_site(Site::kInputFreeWait), {}, {}},
                         In::kGather);
}

TEST(DecoratorMutants, InputFreeRecordSkipped_IsDetected) {
  expect_always_detected(slow_gathers(), Mutation{{}, at_site(Site::kInputFreeRecord), {}},
                         In::kGather);
}

TEST(DecoratorMutants, ReadyRecordSkipped_IsDetected) {
  expect_always_detected(slow_copies(), Mutation{{}, at_site(Site::kReadyRecord), {}}, In::kAll);
}

TEST(DecoratorMutants, FreeRecordSkipped_IsDetected) {
  expect_always_detected(slow_computes(), Mutation{{}, at_site(Site::kFreeRecord), {}}, In::kAll);
}

TEST(DecoratorMutants, LandedRecordSkipped_IsDetected) {
  expect_always_detected(slow_copies(), Mutation{{}, at_site(Site::kLandedRecord), {}},
                         In::kGather);
}

TEST(DecoratorMutants, PackedWaitSkipped_IsDetected) {
  expect_always_detected(slow_packs(), Mutation{at_site(Site::kPackedWait), {}, {}}, In::kStaging);
}

TEST(DecoratorMutants, PackedRecordSkipped_IsDetected) {
  expect_always_detected(slow_packs(), Mutation{{}, at_site(Site::kPackedRecord), {}},
                         In::kStaging);
}

TEST(DecoratorMutants, StagingFreeWaitSkipped_IsDetected) {
  expect_always_detected(slow_copies(), Mutation{at_site(Site::kStagingFreeWait), {}, {}},
                         In::kStaging);
}

TEST(DecoratorMutants, StagingFreeRecordSkipped_IsDetected) {
  expect_always_detected(slow_copies(), Mutation{{}, at_site(Site::kStagingFreeRecord), {}},
                         In::kStaging);
}

TEST(DecoratorMutants, OneWrongByteInACopy_IsDetected) {
  const auto second_block = [](const OpLabel& label) {
    return label.site == Site::kH2d && label.block == 1;
  };
  expect_always_detected(slow_copies(), Mutation{{}, {}, second_block}, In::kAll);
}

}  // namespace
}  // namespace dlo::test
