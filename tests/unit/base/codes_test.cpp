// Goal: every refusal and downgrade has one stable code, spelt once and explained (invariant I10).
// Method: the constants are read from the text of base/codes.h, so that a code without a meaning
// in base/code_list.cpp, or two constants with one spelling, is found without a second list here.
#include "base/codes.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
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
  const std::regex constant("constexpr\\s+std::string_view\\s+k\\w+\\s*=\\s*\"([^\"]*)\"");
  std::vector<std::string> found;
  for (auto it = std::sregex_iterator(content.begin(), content.end(), constant);
       it != std::sregex_iterator(); ++it) {
    found.push_back((*it)[1].str());
  }
  return found;
}

TEST(Codes, EveryConstant_IsUniqueAndSnakeCase) {
  const auto found = codes_in_header();
  ASSERT_GT(found.size(), 20U);
  EXPECT_EQ(std::set<std::string>(found.begin(), found.end()).size(), found.size());
  for (const auto& code : found) {
    EXPECT_TRUE(std::regex_match(code, std::regex("[a-z0-9]+(_[a-z0-9]+)*"))) << code;
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
