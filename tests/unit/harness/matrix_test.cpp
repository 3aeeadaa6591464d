// Goal: a matrix expands into every combination once, in the order of its axes, with names that
// tell instances apart. Method: small matrices whose instances can be listed by hand.
#include "harness/matrix.h"

#include <gtest/gtest.h>

#include "base/codes.h"
#include "tests/unit/harness/harness_fixtures.h"

namespace dlo::harness {
namespace {

Json with_matrix(const char* matrix) {
  Json document = small_document();
  document["matrix"] = Json::parse(matrix);
  return document;
}

std::vector<std::string> names_of(const Json& document) {
  std::vector<std::string> names;
  // Named: a range over the value of a temporary would outlive it.
  const auto instances = expand_matrix(document, "small.json");
  for (const MatrixInstance& instance : *instances) {
    names.push_back(instance.name);
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(Matrix, Absent_GivesOneInstanceWithSizesFilledIn) {
  const auto instances = expand_matrix(small_document(), "small.json");
  ASSERT_EQ(instances->size(), 1U);
  EXPECT_EQ(instances->front().name, "small");
  EXPECT_EQ(instances->front().document.at("topology").at("dp"), 1);
}

TEST(Matrix, TwoAxes_LastOneVariesFastest) {
  EXPECT_EQ(
      names_of(with_matrix(R"({"dp": [1, 2], "blocks": [3, 4]})")),
      (Names{"small/dp1/blocks3", "small/dp1/blocks4", "small/dp2/blocks3", "small/dp2/blocks4"}));
}

TEST(Matrix, ResidentRun_LeavesOutStreamingAxesAndIsOnlyOne) {
  EXPECT_EQ(
      names_of(with_matrix(
          R"({"transfer": ["resident", "rank_local"], "chunk_bytes": [0, 512],
                    "prefetch_depth": [1, 2]})")),
      (Names{"small/resident", "small/rank_local/whole/depth1", "small/rank_local/whole/depth2",
             "small/rank_local/chunk512/depth1", "small/rank_local/chunk512/depth2"}));
}

TEST(Matrix, Backing_IsAnAxisOfWhatStreams) {
  EXPECT_EQ(
      names_of(with_matrix(R"({"transfer": ["resident", "rank_local"],
                                     "backing": ["ordinary", "checkpoint_mmap"]})")),
      (Names{"small/resident", "small/rank_local/ordinary", "small/rank_local/checkpoint_mmap"}));
}

TEST(Matrix, ResidentRun_HasNoStreamingOptions) {
  Json document = with_matrix(R"({"transfer": ["resident"], "chunk_bytes": [512]})");
  const auto instances = expand_matrix(document, "small.json");
  EXPECT_FALSE(instances->front().document.at("options").contains("dlo_chunk_bytes"));
}

TEST(Matrix, DottedPath_IsSetAndNamed) {
  const Json document =
      with_matrix(R"({"requests.steps": [1, 2], "options.pin_cpu_memory": [false]})");
  const auto instances = expand_matrix(document, "small.json");
  ASSERT_EQ(instances->size(), 2U);
  EXPECT_EQ(instances->at(1).name, "small/steps=2/pin_cpu_memory=false");
  EXPECT_EQ(instances->at(1).document.at("requests").at("steps"), 2);
  EXPECT_EQ(instances->at(1).document.at("options").at("pin_cpu_memory"), false);
}

TEST(Matrix, UnknownAxis_IsRefusedWithTheNearest) {
  const auto instances = expand_matrix(with_matrix(R"({"chunk_byte": [1]})"), "small.json");
  ASSERT_FALSE(instances.ok());
  EXPECT_EQ(instances.refusal().code, codes::kUnknownOption);
  EXPECT_EQ(instances.refusal().where, "small.json");
  EXPECT_NE(instances.refusal().message().find("chunk_bytes"), std::string::npos);
}

TEST(Matrix, TooManyInstances_IsRefusedBeforeExpanding) {
  Json document = small_document();
  Json values = Json::array();
  for (int i = 0; i < 200; ++i) {
    values.push_back(i);
  }
  document["matrix"] = {{"dp", values}, {"requests.seed", values}};
  const auto instances = expand_matrix(document, "small.json");
  ASSERT_FALSE(instances.ok());
  EXPECT_EQ(instances.refusal().code, codes::kInvalidValue);
}

TEST(Matrix, ValueOfWrongType_IsRefusedByTheSchema) {
  const auto scenarios = read_scenarios(with_matrix(R"({"transfer": ["residnt"]})"),
                                        {.file = "small.json", .run_seed = 0});
  ASSERT_FALSE(scenarios.ok());
  EXPECT_EQ(scenarios.refusal().code, codes::kInvalidValue);
}

}  // namespace
}  // namespace dlo::harness
