// Goal: each type of option accepts exactly its own values, from JSON and from text.
// Method: values at the edges of every type.
#include "config/option_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/codes.h"

namespace dlo::config {
namespace {

using nlohmann::json;

constexpr OptionType kTypes[] = {
    OptionType::kFlag, OptionType::kInteger,         OptionType::kNumber,
    OptionType::kText, OptionType::kOptionalInteger, OptionType::kOptionalText};

void expect_only(const json& value, std::initializer_list<OptionType> accepting) {
  for (const auto type : kTypes) {
    const bool wanted = std::find(accepting.begin(), accepting.end(), type) != accepting.end();
    EXPECT_EQ(value_from_json("x", type, value).ok(), wanted)
        << value.dump() << " as type " << static_cast<int>(type);
  }
}

TEST(ValueFromJson, EachKindOfValue_FitsItsTypesOnly) {
  expect_only(true, {OptionType::kFlag});
  expect_only(3, {OptionType::kInteger, OptionType::kNumber, OptionType::kOptionalInteger});
  expect_only(3.5, {OptionType::kNumber});
  expect_only(3.0, {OptionType::kNumber});
  expect_only("text", {OptionType::kText, OptionType::kOptionalText});
  expect_only("3", {OptionType::kText, OptionType::kOptionalText});
  expect_only("nan", {OptionType::kNumber, OptionType::kText, OptionType::kOptionalText});
  expect_only(nullptr, {OptionType::kOptionalInteger, OptionType::kOptionalText});
  expect_only(json::array(), {});
  expect_only(json::object(), {});
}

TEST(ValueFromJson, IntegerPast64Bits_IsRefused) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_TRUE(value_from_json("x", OptionType::kInteger, kMax).ok());
  EXPECT_TRUE(
      value_from_json("x", OptionType::kInteger, std::numeric_limits<std::int64_t>::min()).ok());
  const json past = static_cast<std::uint64_t>(kMax) + 1;
  EXPECT_FALSE(value_from_json("x", OptionType::kInteger, past).ok());
  EXPECT_FALSE(value_from_json("x", OptionType::kOptionalInteger, past).ok());
}

TEST(ValueFromJson, InvalidUtf8Text_IsQuotedNotThrown) {
  const auto refused = value_from_json("x", OptionType::kInteger, json("\xff"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.refusal().code, codes::kInvalidValue);
}

TEST(ValueToJson, NumbersThatJsonLacks_RoundTripByName) {
  for (const double number : {std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity(), 0.1, -0.0}) {
    const auto again = value_from_json("x", OptionType::kNumber, value_to_json(number));
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(std::get<double>(*again), number);
  }
  for (const double nan : {std::nan(""), -std::nan("")}) {
    EXPECT_EQ(value_to_json(nan), "nan");
  }
  EXPECT_TRUE(std::isnan(std::get<double>(*value_from_json("x", OptionType::kNumber, "nan"))));
}

TEST(ValueFromText, Flags_AreWordsOrDigits) {
  for (const auto* text : {"true", "1"}) {
    EXPECT_TRUE(std::get<bool>(*value_from_text("x", OptionType::kFlag, text)));
  }
  for (const auto* text : {"false", "0"}) {
    EXPECT_FALSE(std::get<bool>(*value_from_text("x", OptionType::kFlag, text)));
  }
  for (const auto* text : {"", "True", "yes", "2"}) {
    EXPECT_FALSE(value_from_text("x", OptionType::kFlag, text).ok()) << text;
  }
}

TEST(ValueFromText, Numbers_AreWholeWords) {
  EXPECT_EQ(std::get<std::int64_t>(*value_from_text("x", OptionType::kInteger, "-12")), -12);
  EXPECT_EQ(std::get<double>(*value_from_text("x", OptionType::kNumber, "1e3")), 1000.0);
  EXPECT_TRUE(std::isinf(std::get<double>(*value_from_text("x", OptionType::kNumber, "inf"))));
  EXPECT_EQ(std::get<std::optional<std::int64_t>>(
                *value_from_text("x", OptionType::kOptionalInteger, "7")),
            7);
  for (const auto* text : {"", "1 ", " 1", "1k", "1.5", "9223372036854775808", "0x10"}) {
    EXPECT_FALSE(value_from_text("x", OptionType::kInteger, text).ok()) << text;
  }
  for (const auto* text : {"", "1.5.", "one", "1e999"}) {
    EXPECT_FALSE(value_from_text("x", OptionType::kNumber, text).ok()) << text;
  }
}

TEST(ValueFromText, Text_IsTakenAsItIs) {
  EXPECT_EQ(std::get<std::string>(*value_from_text("x", OptionType::kText, "")), "");
  EXPECT_EQ(
      std::get<std::optional<std::string>>(*value_from_text("x", OptionType::kOptionalText, "a b")),
      "a b");
}

TEST(InvalidValue, EmptyWord_SaysSo) {
  EXPECT_EQ(value_from_text("depth", OptionType::kInteger, "").refusal().what,
            "option depth cannot be empty");
}

struct OneFlag {
  bool on = false;
};

TEST(SetOption, ValueOfAnotherType_Throws) {
  const OptionRow<OneFlag> row{"on", &OneFlag::on, "", "", "", "Help."};
  OneFlag options;
  set_option(row, options, OptionValue(true));
  EXPECT_TRUE(options.on);
  EXPECT_EQ(std::get<bool>(get_option(row, options)), true);
  EXPECT_THROW(set_option(row, options, OptionValue(std::int64_t{1})), LogicError);
}

}  // namespace
}  // namespace dlo::config
