// Goal: mutants of the arithmetic (narrowing, slot choice, shard offsets), which no decorator can
// make, are found by the same jobs that the unmutated program passes.
// Method: this program is linked against a mutated source of hot_path or backend; mutant_name()
// names it. At least one job must fail, and all jobs on which the mutant is wrong by construction
// do.
#include <gtest/gtest.h>

#include "tests/mutants/mutant_jobs.h"
#include "tests/mutants/mutant_name.h"

namespace dlo::test {
namespace {

// Jobs on which the mutant is not equal to the original.
bool concerned(const SyntheticJob& job) {
  const std::string mutant = mutant_name();
  std::size_t blocks = 0;
  for (const auto& ring : job.shape.rings) {
    blocks += ring.blocks.size();
  }
  if (mutant == "gather_not_narrowed") {
    return job.ranks > 1;
  }
  if (mutant == "shard_off_by_one_chunk") {
    return job.config.chunk_bytes > 0;
  }
  if (mutant == "pack_ignores_chunk") {
    return job.mapped;
  }
  if (mutant == "own_head_at_the_wrap") {
    return job.shape.rings.size() > 1;
  }
  // Static slots are right when the slots divide the ring.
  return blocks % (job.config.prefetch_depth + 1) != 0;
}

TEST(SourceMutant, SlowCopies_EveryConcernedJobFails) {
  std::size_t tried = 0;
  for (const auto& [name, job] : mutant_jobs(slow_copies())) {
    if (!concerned(job)) {
      continue;
    }
    ++tried;
    std::string why;
    EXPECT_TRUE(detected(job, why)) << mutant_name() << " survived: " << name;
  }
  EXPECT_GT(tried, 0U);
}

}  // namespace
}  // namespace dlo::test
