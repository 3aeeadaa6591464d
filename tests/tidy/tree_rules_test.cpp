// Goal: each rule over several files fires on what it forbids and is silent on what is allowed.
// Method: in-memory trees; for the tables, a README that agrees and one that does not.
#include "tests/tidy/tree_rules.h"

#include <gtest/gtest.h>

#include <string>

namespace dlo::tidy {
namespace {

// All rows of the table; I10 names the test, the others none.
std::string invariants_table(const std::string& test) {
  std::string text = "## Invariants\n| Id | Invariant | Test |\n| --- | --- | --- |\n";
  for (int i = 1; i <= 12; ++i) {
    text += "| I" + std::to_string(i) + " | text | " + (i == 10 ? test : "") + " |\n";
  }
  return text + "## Next\n";
}

TEST(Listed, SourceInNoList_Fires) {
  EXPECT_EQ(check_listed(SourceTree({{"src/base/CMakeLists.txt", "dlo_add_library(base xa.cpp)"},
                                     {"src/base/a.cpp", ""}}))
                .size(),
            1U);
}

TEST(Listed, SourceInAListAbove_IsSilent) {
  EXPECT_EQ(describe(check_listed(
                SourceTree({{"src/base/CMakeLists.txt", "dlo_add_library(base SOURCES sub/a.cpp)"},
                            {"src/base/sub/a.cpp", ""}}))),
            "");
}

TEST(Listed, HeaderThatNobodyIncludes_Fires) {
  const SourceTree lonely = SourceTree::one("src/base/a.h", "");
  const SourceTree used({{"src/base/a.h", ""}, {"src/b.h", "#include \"base/a.h\"\n"}});
  EXPECT_EQ(check_listed(lonely).size(), 1U);
  EXPECT_EQ(check_listed(used).size(), 1U);  // b.h itself
}

TEST(TopLevel, UnknownEntry_Fires) {
  EXPECT_EQ(check_top_level(SourceTree({{"notes.txt", ""}, {"src/a.h", ""}})).size(), 1U);
}

TEST(Scenarios, BrokenJson_Fires) {
  EXPECT_EQ(check_scenarios(SourceTree::one("scenarios/smoke/a.json", "{\"a\": 1,}")).size(), 1U);
  EXPECT_EQ(describe(check_scenarios(SourceTree::one("scenarios/smoke/a.json", "{\"a\": 1}"))), "");
}

TEST(SetupLibraries, UnlinkedOrUnknown_Fires) {
  const std::string link = "target_link_libraries(x PRIVATE dlo::fmt)";
  EXPECT_EQ(check_setup_libraries(SourceTree({{"scripts/setup", "libraries=(libfmt-dev)"},
                                              {"src/CMakeLists.txt", ""}}))
                .size(),
            1U);
  EXPECT_EQ(check_setup_libraries(SourceTree({{"scripts/setup", "libraries=(libnew-dev)"},
                                              {"src/CMakeLists.txt", link}}))
                .size(),
            1U);
  EXPECT_EQ(describe(check_setup_libraries(SourceTree(
                {{"scripts/setup", "libraries=(libfmt-dev)"}, {"src/CMakeLists.txt", link}}))),
            "");
}

TEST(Invariants, MissingRow_Fires) {
  EXPECT_EQ(check_invariants(SourceTree::one("README.md", "# dlo\n")).size(), 12U);
}

TEST(Invariants, SubjectWithoutTest_Fires) {
  EXPECT_EQ(check_invariants(SourceTree({{"README.md", invariants_table("")},
                                         {"src/config/CMakeLists.txt", ""}}))
                .size(),
            1U);
  EXPECT_EQ(describe(check_invariants(SourceTree::one("README.md", invariants_table("")))), "");
}

TEST(Invariants, NamedTest_MustExist) {
  const std::string table = invariants_table("`Rules.Refusal_HasCode`");
  EXPECT_EQ(check_invariants(SourceTree::one("README.md", table)).size(), 1U);
  EXPECT_EQ(describe(check_invariants(SourceTree({{"README.md", table},
                                                  {"src/config/CMakeLists.txt", ""},
                                                  {"tests/a_test.cpp",
                                                   "TEST"
                                                   "(Rules, Refusal_HasCode) {\n"}}))),
            "");
}

TEST(Deviations, MarkAndList_MustAgree) {
  const std::string mark = "// Deviates from vLLM-Omni: block 0 is primed,\n// not the last.\n";
  const std::string list = "## Deviations\n- Block 0 is primed, not\n  the last. (`hot_path`)\n";
  EXPECT_EQ(check_deviations(SourceTree({{"README.md", ""}, {"src/a.h", mark}})).size(), 1U);
  EXPECT_EQ(check_deviations(SourceTree({{"README.md", list}, {"src/a.h", ""}})).size(), 1U);
  EXPECT_EQ(describe(check_deviations(SourceTree({{"README.md", list}, {"src/a.h", mark}}))), "");
}

}  // namespace
}  // namespace dlo::tidy
