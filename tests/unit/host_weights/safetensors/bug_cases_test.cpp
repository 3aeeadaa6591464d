// Goal: public bug reports about checkpoint readers, one named test each (rows FM of value 3 in the
// collection of bug cases). Method: the small input of each row, put to the reader as bytes or as a
// file; FM-9 and FM-11 are tests of mapped tensors and of checkpoint folders.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/codes.h"
#include "host_weights/preflight.h"
#include "host_weights/safetensors/reader.h"
#include "tests/support/memory_file_system.h"
#include "tests/unit/host_weights/safetensors/bytes_of_files.h"

namespace dlo::host_weights {
namespace {

using test::as_bytes;
using test::file_of;

constexpr const char* kPath = "/m.safetensors";

Result<Header> parse(std::string_view bytes) {
  return parse_header(as_bytes(bytes), kPath);
}

// The kind of error of a file that must be refused.
std::optional<HeaderErrorKind> kind_of(std::string_view bytes) {
  const auto header = parse(bytes);
  EXPECT_FALSE(header.ok());
  return header.ok() ? std::nullopt : header_error_kind(header.refusal());
}

std::string length_field(std::uint64_t length) {
  std::string field;
  for (unsigned i = 0; i < 8; ++i) {
    field += static_cast<char>(length >> (8 * i) & 0xFFU);
  }
  return field;
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return '"' + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
         offsets + '}';
}

TEST(BugCaseFm1, HeaderLengthOfTheFile_SizesNoAllocation) {
  const std::string text = "{}      ";
  EXPECT_EQ(kind_of(""), HeaderErrorKind::kHeaderTooSmall);
  EXPECT_EQ(kind_of("1234567"), HeaderErrorKind::kHeaderTooSmall);
  for (const std::uint64_t length :
       {UINT64_MAX, UINT64_MAX - 7, std::uint64_t{1} << 63, std::uint64_t{100'000'001}}) {
    EXPECT_EQ(kind_of(length_field(length) + text), HeaderErrorKind::kHeaderTooLarge) << length;
  }
  EXPECT_EQ(kind_of(length_field(text.size() + 1) + text), HeaderErrorKind::kInvalidHeaderLength);
  EXPECT_FALSE(parse(length_field(0) + text).ok());
  EXPECT_FALSE(parse(length_field(0)).ok());
}

TEST(BugCaseFm2, OffsetsThatAreNegativeReversedOrNoIntegers_AreRefused) {
  for (const char* offsets : {"[-16,16]", "[8,4]", "[18446744073709551600,16]", "[0,4.0]", "[0]",
                              "[0,4,8]", R"(["0","4"])"}) {
    const auto file = file_of("{" + entry("a", "F32", "[1]", offsets) + "}", "0123456789abcdef");
    EXPECT_FALSE(parse(file).ok()) << offsets;
  }
}

TEST(BugCaseFm3, RepeatedName_IsListedAndRefusedByThePreflight) {
  // The same range twice, F32 and then I32: the reference takes the last, a plan takes neither.
  const auto file = file_of(
      "{" + entry("a", "F32", "[1]", "[0,4]") + "," + entry("a", "I32", "[1]", "[0,4]") + "}",
      "0123");
  const auto header = parse(file);
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->repeated_names, std::vector<std::string>{"a"});
  test_support::MemoryFileSystem files;
  files.put("/m/transformer/model.safetensors", file);
  contracts::DitSpec dit;
  dit.name = "transformer";
  dit.non_block.tensors.push_back(
      {"transformer.a", contracts::TensorKind::kParameter, DType::kI32, {1}, {}});
  PreflightRequest request;
  request.dits = {&dit};
  request.sources = {{"/m", "transformer", "transformer.", {}}};
  const auto plan = preflight_checkpoint(files, request);
  ASSERT_FALSE(plan.ok());
  EXPECT_TRUE(plan.refusal().what.starts_with(plan_obstacles::kRepeatedName));
}

TEST(BugCaseFm3, RepeatedNameWithOtherRangesOrRepeatedFields_IsRefused) {
  EXPECT_FALSE(parse(file_of("{" + entry("a", "F32", "[1]", "[0,4]") + "," +
                                 entry("a", "F32", "[1]", "[4,8]") + "}",
                             "01234567"))
                   .ok());
  EXPECT_FALSE(
      parse(file_of(R"({"a":{"dtype":"F32","dtype":"I32","shape":[1],"data_offsets":[0,4]}})",
                    "0123"))
          .ok());
  EXPECT_FALSE(parse(file_of(R"({"__metadata__":{},"__metadata__":{}})")).ok());
}

TEST(BugCaseFm4, RangesThatDoNotTileTheData_AreRefused) {
  const std::string k = entry("k", "F32", "[1]", "[0,4]");
  const auto with = [&](const std::string& offsets, const std::string& data) {
    return parse(file_of("{" + k + "," + entry("v", "F32", "[1]", offsets) + "}", data)).ok();
  };
  EXPECT_FALSE(with("[0,4]", "0123")) << "shared range";
  EXPECT_FALSE(with("[2,6]", "012345")) << "overlap";
  EXPECT_FALSE(with("[6,10]", "0123456789")) << "hole between";
  EXPECT_FALSE(with("[4,8]", "0123456789")) << "bytes behind the last";
  EXPECT_FALSE(parse(file_of("{" + entry("a", "F32", "[1]", "[4,8]") + "}", "01234567")).ok())
      << "hole in front";
  EXPECT_TRUE(
      parse(file_of("{" + entry("v", "F32", "[1]", "[4,8]") + "," + k + "}", "01234567")).ok())
      << "order of entries";
}

TEST(BugCaseFm5, ShapeAndRangeThatDisagree_AreRefused) {
  EXPECT_FALSE(parse(file_of("{" + entry("a", "F32", "[1000,1000]", "[0,4]") + "}", "0123")).ok());
  EXPECT_FALSE(parse(file_of("{" + entry("a", "F32", "[2]", "[0,4]") + "}", "0123")).ok());
  EXPECT_FALSE(
      parse(file_of("{" + entry("a", "F32", "[2]", "[0,16]") + "}", "0123456789abcdef")).ok());
}

TEST(BugCaseFm6, ScalarsAndEmptyTensors_KeepTheirShape) {
  for (const char* place : {"first", "middle", "last"}) {
    const std::string which = place;
    const std::string at = which == "first" ? "[0,0]" : which == "middle" ? "[4,4]" : "[8,8]";
    const auto header = parse(
        file_of("{" + entry("s", "F32", "[]", "[0,4]") + "," + entry("t", "F32", "[1]", "[4,8]") +
                    "," + entry("e", "F32", "[2,0]", at) + "," + entry("f", "F32", "[0]", at) + "}",
                "01234567"));
    ASSERT_TRUE(header.ok()) << place;
    for (const auto& record : header->tensors) {
      const bool empty = record.name == "e" || record.name == "f";
      EXPECT_EQ(record.size_bytes(), empty ? 0U : 4U) << record.name;
      EXPECT_EQ(element_count(record.shape), empty ? 0U : 1U) << record.name;
    }
  }
}

TEST(BugCaseFm10, ShardShorterThanItsHeaderSays_IsRefusedAtEveryCut) {
  const std::string whole =
      file_of("{" + entry("a", "BF16", "[4096]", "[0,8192]") + "}", std::string(8192, 'x'));
  for (const std::size_t cut :
       {std::size_t{1}, std::size_t{2}, std::size_t{4096}, std::size_t{8192}}) {
    test_support::MemoryFileSystem files;
    files.put(kPath, whole.substr(0, whole.size() - cut));
    const auto file = SafetensorsFile::open(files, kPath);
    ASSERT_FALSE(file.ok()) << cut;
    EXPECT_EQ(file.refusal().code, codes::kSafetensorsInvalid);
    EXPECT_EQ(file.refusal().where, kPath);
    const auto need = "need 8192 bytes, the file has " + std::to_string(8192 - cut);
    EXPECT_NE(file.refusal().what.find(need), std::string::npos) << file.refusal().what;
  }
}

}  // namespace
}  // namespace dlo::host_weights
