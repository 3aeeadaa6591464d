// Goal: header rules that the conformance set leaves open: odd but valid spellings of serde,
// limits, repeated names, and that lengths are never trusted. Method: hand-made headers; each
// verdict was confirmed with safetensors 0.8.0, unless the test says that it deviates.
#include "host_weights/safetensors/header.h"

#include <gtest/gtest.h>

#include "tests/unit/host_weights/safetensors/bytes_of_files.h"

namespace dlo::host_weights {
namespace {

using test::as_bytes;
using test::file_of;

Result<Header> parse(std::string_view header, std::string_view data = {}) {
  return parse_header(as_bytes(file_of(header, data)), "test.safetensors");
}

// "accept", or the words of the kind.
std::string verdict(std::string_view header, std::string_view data = {}) {
  const auto result = parse(header, data);
  return result ? "accept" : std::string(header_error_text(*header_error_kind(result.refusal())));
}

std::string with_extra(const std::string& value) {
  return R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":)" + value + "}}";
}

constexpr auto kInvalidJson = "invalid JSON in header";

TEST(SafetensorsHeader, DtypeAsObject_ReadsLikeItsName) {
  const auto entry = [](const std::string& dtype) {
    return R"({"a":{"dtype":)" + dtype + R"(,"shape":[1],"data_offsets":[0,1]}})";
  };
  EXPECT_EQ(verdict(entry(R"({"U8":null})"), "x"), "accept");
  EXPECT_EQ(verdict(entry(R"({"U8":{}})"), "x"), kInvalidJson);
  EXPECT_EQ(verdict(entry(R"({"U8":{"a":1}})"), "x"), kInvalidJson);
  EXPECT_EQ(verdict(entry(R"({"U8":[]})"), "x"), kInvalidJson);
  EXPECT_EQ(verdict(entry(R"({"U8":"U8"})"), "x"), kInvalidJson);
  EXPECT_EQ(verdict(entry(R"({"U8":null,"I8":null})"), "x"), kInvalidJson);
  EXPECT_EQ(verdict(entry(R"({"V8":null})"), "x"), kInvalidJson);
  EXPECT_EQ(verdict(entry("{}"), "x"), kInvalidJson);
  EXPECT_EQ(verdict(entry("[\"U8\"]"), "x"), kInvalidJson);
}

TEST(SafetensorsHeader, EntryAsList_NeedsExactlyThreeFields) {
  EXPECT_EQ(verdict(R"({"a":["U8",[1],[0,1]]})", "x"), "accept");
  EXPECT_EQ(verdict(R"({"a":[{"U8":null},[1],[0,1]]})", "x"), "accept");
  EXPECT_EQ(verdict(R"({"a":["U8",[1]]})", "x"), kInvalidJson);
  EXPECT_EQ(verdict(R"({"a":["U8",[1],[0,1],null]})", "x"), kInvalidJson);
  EXPECT_EQ(verdict(R"({"a":[]})", "x"), kInvalidJson);
  EXPECT_EQ(verdict(R"({"a":[[1],"U8",[0,1]]})", "x"), kInvalidJson);
}

TEST(SafetensorsHeader, UnknownField_AcceptsAnyValidJsonValue) {
  for (const auto* value : {"null", "true", "-0", "-1.5e3", "18446744073709551616", "1e-400",
                            "\"\\u0041\"", "[1,[2,{}]]", R"({"dtype":1,"dtype":2})"}) {
    EXPECT_EQ(verdict(with_extra(value), "x"), "accept") << value;
  }
  for (const auto* value : {"1e400", "-1e400", "01", "1.", ".5", "+1", "NaN", "Infinity", "tru",
                            R"("\ud800")", R"("\udc00")", R"("\x41")", "[1,]", "{,}", "/**/1"}) {
    EXPECT_EQ(verdict(with_extra(value), "x"), kInvalidJson) << value;
  }
}

TEST(SafetensorsHeader, RepeatedUnknownField_IsAccepted) {
  EXPECT_EQ(verdict(with_extra(R"(1,"x":2)"), "x"), "accept");
  EXPECT_EQ(verdict(with_extra(R"(1,"shape":[1])"), "x"), kInvalidJson);
}

TEST(SafetensorsHeader, Nesting_StopsAtTheReferencesDepth) {
  // The header and the entry are two levels; serde_json refuses the 128th.
  const auto nested = [](std::size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_EQ(verdict(with_extra(nested(125)), "x"), "accept");
  EXPECT_EQ(verdict(with_extra(nested(126)), "x"), kInvalidJson);
  EXPECT_EQ(verdict(with_extra(std::string(1'000'000, '[')), "x"), kInvalidJson);
}

TEST(SafetensorsHeader, RepeatedMetadata_IsRefusedEvenWhenNull) {
  EXPECT_EQ(verdict(R"({"__metadata__":null,"__metadata__":null})"), kInvalidJson);
  EXPECT_EQ(verdict(R"({"__metadata__":null,"__metadata__":{}})"), kInvalidJson);
}

TEST(SafetensorsHeader, RepeatedName_LastEntryCountsAndTheNameIsListed) {
  const auto header = parse(R"({"a":{"dtype":"U8","shape":[9],"data_offsets":[5,14]},)"
                            R"("b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},)"
                            R"("a":{"dtype":"I8","shape":[2],"data_offsets":[0,2]}})",
                            "xyz");
  ASSERT_TRUE(header.ok()) << header.refusal().message();
  ASSERT_EQ(header->tensors.size(), 2U);
  EXPECT_EQ(header->tensors[0], (TensorRecord{"a", DType::kI8, {2}, 0, 2}));
  EXPECT_EQ(header->repeated_names, std::vector<std::string>{"a"});
}

TEST(SafetensorsHeader, InvalidEarlierEntryOfARepeatedName_IsStillRefused) {
  EXPECT_EQ(verdict(R"({"a":7,"a":{"dtype":"I8","shape":[2],"data_offsets":[0,2]}})", "xy"),
            kInvalidJson);
}

TEST(SafetensorsHeader, EndsThatWrapAround_AreRefused) {
  // Deviates from the reference where its sum of end, length and 8 wraps: nothing is read past the
  // end of the file whatever the header says.
  std::string header = "{";
  constexpr std::uint64_t kEach = (std::uint64_t{1} << 61U) - 1;
  for (std::uint64_t i = 0; i < 8; ++i) {
    header += (i > 0 ? ",\"" : "\"") + std::to_string(i) + R"(":{"dtype":"U8","shape":[)" +
              std::to_string(kEach) + R"(],"data_offsets":[)" + std::to_string(i * kEach) + "," +
              std::to_string((i + 1) * kEach) + "]}";
  }
  EXPECT_EQ(verdict(header + "}", "x"), "incomplete metadata, file not fully covered");
}

TEST(SafetensorsHeader, ExtentAboveInt64_IsRefusedAlthoughEmpty) {
  const auto entry = [](const std::string& extent) {
    return R"({"a":{"dtype":"U8","shape":[0,)" + extent + R"(],"data_offsets":[0,0]}})";
  };
  EXPECT_EQ(verdict(entry("9223372036854775807")), "accept");
  EXPECT_EQ(verdict(entry("9223372036854775808")),
            "invalid shape, data type, or offset for tensor");
}

TEST(SafetensorsHeader, InvalidUtf8_IsFoundInEveryForm) {
  for (const auto* bytes :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xE4\xB8", "\xC3("}) {
    EXPECT_EQ(verdict(R"({"__metadata__":{"k":")" + std::string(bytes) + R"("}})"),
              "invalid UTF-8 in header");
  }
  EXPECT_EQ(verdict("{\"__metadata__\":{\"k\":\"\xF4\x8F\xBF\xBF\xED\x9F\xBF\xEE\x80\x80\"}}"),
            "accept");
}

TEST(SafetensorsHeader, HostileName_StaysOnOneShortLine) {
  const auto result = parse(R"({"a\n\u001b)" + std::string(100'000, 'n') + R"(":7})");
  ASSERT_FALSE(result.ok());
  const auto message = result.refusal().message();
  EXPECT_LT(message.size(), 1000U);
  EXPECT_EQ(message.find_first_of("\n\x1b"), std::string::npos);
}

TEST(SafetensorsHeader, MessageAboutBrokenText_IsPrintable) {
  // The JSON library quotes what it read last, here half of a character.
  const auto result = parse("{\"\xC3\xA4");
  ASSERT_FALSE(result.ok());
  for (const char character : result.refusal().message()) {
    EXPECT_TRUE(character >= ' ' && character <= '~') << result.refusal().message();
  }
}

TEST(SafetensorsHeader, TruncatedData_SaysWhatItNeedsAndHas) {
  const auto result = parse(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "xyz");
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.refusal().what.find("need 4 bytes, the file has 3"), std::string::npos);
}

}  // namespace
}  // namespace dlo::host_weights
