// Goal: each rule about a file's text fires on what it forbids and is silent on what is allowed.
// Method: in-memory trees of one bad or good file each; forbidden words are spelled in pieces.
#include "tests/tidy/text_rules.h"

#include <gtest/gtest.h>

#include <string>

namespace dlo::tidy {
namespace {

std::string repeat(const std::string& text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) {
    result += text;
  }
  return result;
}

TEST(Sizes, LongLine_Fires) {
  EXPECT_EQ(check_sizes(SourceTree::one("src/base/a.cpp", std::string(101, 'x'))).size(), 1U);
  EXPECT_EQ(describe(check_sizes(SourceTree::one("src/base/a.cpp", std::string(100, 'x')))), "");
}

TEST(Sizes, LongLineInUtf8_CountsColumns) {
  EXPECT_EQ(
      describe(check_sizes(SourceTree::one("src/base/a.cpp", "// " + repeat("\xC3\xA9", 97)))), "");
}

TEST(Sizes, LongFunction_Fires) {
  const auto function = [](int lines) {
    return "int f() {\n" + repeat("  g();\n", lines - 2) + "}\n";
  };
  EXPECT_EQ(check_sizes(SourceTree::one("src/base/a.cpp", function(71))).size(), 1U);
  EXPECT_EQ(describe(check_sizes(SourceTree::one("src/base/a.cpp", function(70)))), "");
}

TEST(Sizes, LongFile_Fires) {
  EXPECT_EQ(check_sizes(SourceTree::one("src/base/a.cpp", repeat("int x;\n", 401))).size(), 1U);
  EXPECT_EQ(describe(check_sizes(SourceTree::one("src/base/a.cpp", repeat("int x;\n", 400)))), "");
  EXPECT_EQ(describe(check_sizes(SourceTree::one("src/model/a.cpp", repeat("int x;\n", 600)))), "");
  EXPECT_EQ(check_sizes(SourceTree::one("src/model/a.cpp", repeat("int x;\n", 601))).size(), 1U);
}

TEST(OpeningComments, HeaderWithout_Fires) {
  EXPECT_EQ(check_opening_comments(SourceTree::one("src/a.h", "#pragma once\n")).size(), 1U);
  EXPECT_EQ(check_opening_comments(SourceTree::one("src/a.h", "// a\n// b\n// c\n")).size(), 1U);
  EXPECT_EQ(
      check_opening_comments(SourceTree::one("src/a.h", repeat("// a\n", 16) + "#pragma once\n"))
          .size(),
      1U);
  EXPECT_EQ(describe(check_opening_comments(
                SourceTree::one("src/a.h", "// a\n// b\n// c\n#pragma once\n"))),
            "");
}

TEST(OpeningComments, TestFileWithout_Fires) {
  EXPECT_EQ(check_opening_comments(SourceTree::one("tests/unit/a_test.cpp", "int x;\n")).size(),
            1U);
}

TEST(ForbiddenWords, EachKind_Fires) {
  EXPECT_EQ(check_forbidden_words(SourceTree::one("src/a.cpp",
                                                  "// TO"
                                                  "DO later\n"))
                .size(),
            1U);
  EXPECT_EQ(check_forbidden_words(SourceTree::one("src/a.cpp",
                                                  "// FIX"
                                                  "ME\n"))
                .size(),
            1U);
  EXPECT_EQ(check_forbidden_words(SourceTree::one("scripts/a",
                                                  "cd /wor"
                                                  "k/main\n"))
                .size(),
            1U);
  EXPECT_EQ(check_forbidden_words(SourceTree::one("README.md",
                                                  "see /hom"
                                                  "e/me\n"))
                .size(),
            1U);
  EXPECT_EQ(check_forbidden_words(SourceTree::one("src/a.h", "using namespace std;\n")).size(), 1U);
}

TEST(ForbiddenWords, NearMisses_AreSilent) {
  EXPECT_EQ(describe(check_forbidden_words(
                SourceTree::one("src/a.cpp", "using namespace std::literals;\n"))),
            "");
  EXPECT_EQ(describe(check_forbidden_words(SourceTree::one("src/a.h", "// home/ and ../work/x\n"))),
            "");
}

TEST(TestNames, OutOfPattern_Fire) {
  EXPECT_EQ(check_test_names(SourceTree::one("tests/a.cpp",
                                             "TEST"
                                             "(Subject, works) {}\n"))
                .size(),
            1U);
  EXPECT_EQ(check_test_names(SourceTree::one("tests/a.cpp",
                                             "TEST"
                                             "(subject, A_B) {}\n"))
                .size(),
            1U);
  EXPECT_EQ(describe(check_test_names(SourceTree::one("tests/a.cpp",
                                                      "TEST"
                                                      "(Subject, A_B) {}\n"))),
            "");
}

}  // namespace
}  // namespace dlo::tidy
