// Goal: mutants of the hot path's arithmetic and checks are found by exploration within a stated
// number of seeds.
// Method: this program is linked against a mutated source of hot_path or backend; mutant_name()
// names it.
#include <gtest/gtest.h>

#include "tests/mutants/exploration_proof.h"
#include "tests/mutants/mutant_name.h"

namespace dlo::test {
namespace {

TEST(SourceMutant, Exploration_FindsIt) {
  expect_killed(mutant_name(), {});
}

}  // namespace
}  // namespace dlo::test
