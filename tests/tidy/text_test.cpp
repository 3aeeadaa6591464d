// Goal: the text helpers under the rules. Method: small samples with every construct once.
#include "tests/tidy/text.h"

#include <gtest/gtest.h>

#include <string>

namespace dlo::tidy {
namespace {

TEST(CodeOnly, CommentsAndLiterals_AreBlankedInPlace) {
  const std::string text = "a; // b\n\"c\\\"d\" e /* f\ng */ 'h' 1'000 R\"x(i\")x\" j";
  const std::string code = code_only(text);
  EXPECT_EQ(code.size(), text.size());
  EXPECT_EQ(split_lines(code).size(), split_lines(text).size());
  EXPECT_EQ(collapse(code), "a; e 1'000 R j");
}

TEST(FindFunctions, DefinitionsOfAllKinds_AreFoundOnce) {
  const std::string text =
      "namespace a {\n"
      "struct B : C {\n"
      "  B(int x) : x_{x}, y_(2) {\n    if (x) {\n    }\n  }\n"
      "  int x_{1};\n"
      "};\n"
      "const std::array<int, 2> kTable{1, 2};\n"
      "template <typename T>\nint f(T t) const {\n  auto g = [&](int) { return 1; };\n}\n"
      "TEST(Subject, Condition_Outcome) {\n}\n"
      "}\n";
  const std::vector<FunctionSpan> spans = find_functions(text);
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_EQ(spans[0].first_line, 3);
  EXPECT_EQ(spans[0].last_line, 6);
  EXPECT_EQ(spans[1].first_line, 10);
  EXPECT_EQ(spans[1].last_line, 13);
  EXPECT_EQ(spans[2].first_line, 14);
}

TEST(SplitLines, LastLineWithoutEnd_Counts) {
  EXPECT_EQ(split_lines("a\n\nb").size(), 3U);
  EXPECT_EQ(split_lines("a\n").size(), 1U);
  EXPECT_TRUE(split_lines("").empty());
}

}  // namespace
}  // namespace dlo::tidy
