// Goal: mutants of the arithmetic turn the sweep that passes into one that falls short.
// Method: this program is linked against a mutated source of hot_path or backend; mutant_name()
// names it.
#include <gtest/gtest.h>

#include "tests/mutants/mutant_name.h"
#include "tests/mutants/sweep_job.h"

namespace dlo::test {
namespace {

TEST(SourceMutant, SmallSweep_FallsShort) {
  EXPECT_GT(count_fallen_short(run_small_sweep(2'000'000, {})), 0U) << mutant_name() << " survived";
}

}  // namespace
}  // namespace dlo::test
