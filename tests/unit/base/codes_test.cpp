// Goal: every refusal and downgrade has one stable code, spelt once and explained (invariant I10).
// Method: the constants are read from the text of base/codes.h, so that a code without a meaning
// in base/code_list.cpp, or two constants with one spelling, is found without a second list here.
#include "base/codes.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/code_list.h"

namespace dlo {
namespace {

std::vector<std::string> codes_in_header() {
  std::ifstream file(DLO_SOURCE_DIR "/src/base/codes.h");
  std::stringstream text;
  text << file.rdbuf();
  const std::string content = text.str();
  const std::string constant = "std::string_view k";
  std::vector<std::string> found;
  for (auto at = content.find(constant); at != std::string::npos; at = content.find(constant, at)) {
    const auto open = content.find('"', at) + 1;
    const auto close = content.find('"', open);
    found.push_back(content.substr(open, close - open));
    at = close;
  }
  return found;
}

bool is_snake_case(const std::string& code) {
  return code.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos &&
         code.find("__") == std::string::npos && !code.starts_with('_') && !code.ends_with('_');
}

TEST(Codes, EveryConstant_IsUniqueAndSnakeCase) {
  const auto found = codes_in_header();
  ASSERT_GT(found.size(), 20U);
  EXPECT_EQ(std::set<std::string>(found.begin(), found.end()).size(), found.size());
  for (const auto& code : found) {
    EXPECT_TRUE(!code.empty() && is_snake_case(code)) << code;
  }
}

TEST(Codes, EveryConstant_HasOneMeaning) {
  std::multiset<std::string> listed;
  for (const auto& [code, meaning] : code_list()) {
    listed.emplace(code);
    EXPECT_FALSE(meaning.empty()) << code;
  }
  const auto found = codes_in_header();
  for (const auto& code : found) {
    EXPECT_EQ(listed.count(code), 1U) << "give '" << code << "' one line in base/code_list.cpp";
  }
  EXPECT_EQ(listed.size(), found.size());
}

TEST(Codes, ReleasedSpellings_StayAsTheyAre) {
  // Scenarios, gates and users compare these; a change here breaks them.
  EXPECT_EQ(codes::kUnknownOption, "unknown_option");
  EXPECT_EQ(codes::kInvalidValue, "invalid_value");
  EXPECT_EQ(codes::kNotInThisProduct, "not_in_this_product");
  EXPECT_EQ(codes::kPinFailed, "pin_failed");
  EXPECT_EQ(codes::kPinDisabled, "pin_disabled");
  EXPECT_EQ(codes::kGroupSizeOne, "group_size_one");
  EXPECT_EQ(codes::kLowerPriorityStrategy, "lower_priority_strategy");
  EXPECT_EQ(codes::kDeadlineExceeded, "deadline_exceeded");
}

}  // namespace
}  // namespace dlo
