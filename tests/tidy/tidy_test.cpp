// Goal: the repository keeps its own rules. Method: read every text file once and hold it against
// each rule; a failure lists file, line and what to do. The rules are tested in rules_test.cpp.
#include <gtest/gtest.h>

#include "tests/tidy/rooms.h"
#include "tests/tidy/source_tree.h"
#include "tests/tidy/text_rules.h"
#include "tests/tidy/tree_rules.h"

namespace dlo::tidy {
namespace {

const SourceTree& repository() {
  static const SourceTree tree = SourceTree::load(DLO_SOURCE_DIR);
  return tree;
}

testing::AssertionResult holds(Violations (*check)(const SourceTree&)) {
  const Violations violations = check(repository());
  if (violations.empty()) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << violations.size() << " violations\n"
                                     << describe(violations);
}

TEST(Repository, Includes_KeepToTheirRooms) {
  EXPECT_TRUE(holds(check_includes));
}

TEST(Repository, LinkLists_KeepToTheirRooms) {
  EXPECT_TRUE(holds(check_link_lists));
}

TEST(Repository, RawCalls_StayBelowTheSeams) {
  EXPECT_TRUE(holds(check_raw_calls));
}

TEST(Repository, Sizes_StayWithinLimits) {
  EXPECT_TRUE(holds(check_sizes));
}

TEST(Repository, Files_OpenWithTheirComment) {
  EXPECT_TRUE(holds(check_opening_comments));
}

TEST(Repository, ForbiddenWords_AreAbsent) {
  EXPECT_TRUE(holds(check_forbidden_words));
}

TEST(Repository, Tests_AreNamedByThePattern) {
  EXPECT_TRUE(holds(check_test_names));
}

TEST(Repository, Files_AreListedOrIncluded) {
  EXPECT_TRUE(holds(check_listed));
}

TEST(Repository, TopLevel_IsTheAgreedSet) {
  EXPECT_TRUE(holds(check_top_level));
}

TEST(Repository, Scenarios_AreJson) {
  EXPECT_TRUE(holds(check_scenarios));
}

TEST(Repository, SetupLibraries_AreLinked) {
  EXPECT_TRUE(holds(check_setup_libraries));
}

TEST(Repository, Invariants_HaveNamedTests) {
  EXPECT_TRUE(holds(check_invariants));
}

TEST(Repository, Deviations_AreMarkedAndListed) {
  EXPECT_TRUE(holds(check_deviations));
}

}  // namespace
}  // namespace dlo::tidy
