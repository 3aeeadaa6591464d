// Goal: mutants of the hot path's arithmetic and checks are found by exploration within a stated
// number of seeds.
// Method: this program is linked against a mutated copy of hot_path and backend; DLO_MUTANT names
// it.
#include <gtest/gtest.h>

#include "tests/mutants/exploration_proof.h"

namespace dlo::test {
namespace {

TEST(SourceMutant, Exploration_FindsIt) {
  expect_killed(DLO_MUTANT, {});
}

}  // namespace
}  // namespace dlo::test
