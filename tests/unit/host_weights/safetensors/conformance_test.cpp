// Goal: our reader gives the reference library's verdict on every file of the conformance set: same
// acceptance, same kind of error, same tensors with the same bytes, same metadata.
// Method: verdicts.json was written by safetensors 0.8.0; the files are read as bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/json.h"
#include "base/sha256.h"
#include "host_weights/safetensors/header.h"

namespace dlo::host_weights {
namespace {

using nlohmann::json;

const std::string kFolder = DLO_CONFORMANCE_DIR;

std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(stream.good()) << path;
  return {std::istreambuf_iterator<char>(stream), {}};
}

ConstByteSpan as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

json verdicts() {
  return json::parse(read_file(kFolder + "/verdicts.json")).at("files");
}

// The shape of a verdict's `tensors`, sorted by name.
json tensors_of(const Header& header, ConstByteSpan file) {
  auto records = header.tensors;
  std::sort(records.begin(), records.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  auto rows = json::array();
  for (const auto& record : records) {
    const auto bytes =
        file.subspan(header.data_start_bytes + record.begin_bytes, record.size_bytes());
    rows.push_back({{"name", record.name},
                    {"dtype", dtype_name(record.dtype)},
                    {"shape", record.shape},
                    {"bytes", record.size_bytes()},
                    {"sha256", sha256_hex(bytes)}});
  }
  return rows;
}

json metadata_of(const Header& header) {
  return header.metadata ? json(*header.metadata) : json(nullptr);
}

TEST(SafetensorsConformance, AcceptedFile_HasTheReferencesTensorsAndMetadata) {
  std::size_t accepted = 0;
  const auto files = verdicts();
  for (const auto& [name, verdict] : files.items()) {
    if (verdict.at("verdict") != "accept") {
      continue;
    }
    ++accepted;
    const auto file = read_file(kFolder + "/" + name);
    const auto header = parse_header(as_bytes(file), name);
    ASSERT_TRUE(header.ok()) << header.refusal().message();
    EXPECT_EQ(tensors_of(*header, as_bytes(file)), verdict.at("tensors")) << name;
    EXPECT_EQ(metadata_of(*header), verdict.at("metadata")) << name;
  }
  EXPECT_EQ(accepted, 53U);
}

TEST(SafetensorsConformance, RejectedFile_NamesTheReferencesKindOfError) {
  std::size_t rejected = 0;
  const auto files = verdicts();
  for (const auto& [name, verdict] : files.items()) {
    if (verdict.at("verdict") != "reject") {
      continue;
    }
    ++rejected;
    const auto header = parse_header(as_bytes(read_file(kFolder + "/" + name)), name);
    ASSERT_FALSE(header.ok()) << name;
    EXPECT_EQ(header.refusal().code, "safetensors_invalid");
    EXPECT_EQ(header.refusal().where, name);
    const auto kind = header_error_kind(header.refusal());
    ASSERT_TRUE(kind.has_value()) << header.refusal().message();
    EXPECT_EQ(header_error_text(*kind), verdict.at("error_kind").get<std::string>())
        << header.refusal().message();
  }
  EXPECT_EQ(rejected, 99U);
}

TEST(SafetensorsConformance, EveryFileOfTheFolder_HasAVerdict) {
  // Guards against a set that shrinks unnoticed.
  EXPECT_EQ(verdicts().size(), 152U);
}

}  // namespace
}  // namespace dlo::host_weights
