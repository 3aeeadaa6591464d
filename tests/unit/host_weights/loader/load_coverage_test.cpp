// Goal: strict coverage follows behaviour.md 2.5 to the letter. Method: each rule as one small
// model; the right answer is written by hand.
#include "host_weights/load_coverage.h"

#include <gtest/gtest.h>

#include "base/codes.h"

namespace dlo::host_weights {
namespace {

using Names = std::vector<std::string>;

CoverageRequest request_for(Names parameters, Names prefixes, std::set<std::string> reported) {
  CoverageRequest request;
  request.parameters = std::move(parameters);
  request.source_prefixes = std::move(prefixes);
  request.reported = std::move(reported);
  return request;
}

TEST(ExpectedNames, NoSource_IsEveryParameter) {
  const Names all = {"transformer.a", "vae.b"};
  EXPECT_EQ(expected_names(all, {}), all);
}

TEST(ExpectedNames, OneEmptyPrefix_IsEveryParameter) {
  const Names all = {"transformer.a", "vae.b"};
  EXPECT_EQ(expected_names(all, {"transformer.", ""}), all);
}

TEST(ExpectedNames, PrefixesOnly_AreNamesUnderThem) {
  EXPECT_EQ(expected_names({"transformer.a", "transformer_2.a", "vae.b"}, {"transformer."}),
            Names{"transformer.a"});
}

TEST(Coverage, LoaderReportsNothing_IsSkipped) {
  CoverageRequest request = request_for({"transformer.a"}, {"transformer."}, {});
  request.reported.reset();
  const auto report = check_coverage(request);
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->checked);
}

TEST(Coverage, ReportedAndPlannedTogether_Cover) {
  CoverageRequest request = request_for({"t.a", "t.b"}, {"t."}, {"t.a"});
  EXPECT_FALSE(check_coverage(request).ok());
  request.planned = {"t.b"};
  const auto report = check_coverage(request);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->checked);
  EXPECT_TRUE(report->tolerated.empty());
}

TEST(Coverage, SevenMissing_CountsAllAndNamesFive) {
  const auto report = check_coverage(
      request_for({"t.a", "t.b", "t.c", "t.d", "t.e", "t.f", "t.g", "t.h"}, {"t."}, {"t.h"}));
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.refusal().code, codes::kMissingTensor);
  EXPECT_EQ(report.refusal().what,
            "7 of the model's tensors are in none of its sources: 't.a', 't.b', 't.c', 't.d', "
            "'t.e' and 2 more");
}

TEST(Coverage, ScaleSuffixes_AreToleratedWithoutQuantization) {
  const auto report =
      check_coverage(request_for({"t.q.weight_scale", "t.q.input_scale"}, {"t."}, {}));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->tolerated, (Names{"t.q.input_scale", "t.q.weight_scale"}));
}

TEST(Coverage, InverseScaleAndGroupIndex_AreToleratedOnlyWithQuantization) {
  for (const char* name : {"t.q.g_idx", "t.q.weight_scale_inv"}) {
    CoverageRequest request = request_for({name}, {"t."}, {});
    EXPECT_FALSE(check_coverage(request).ok()) << name;
    request.quantized = true;
    EXPECT_TRUE(check_coverage(request).ok()) << name;
  }
}

TEST(Coverage, QuantizedModelWithoutAWeight_IsRefused) {
  CoverageRequest request = request_for({"t.q.weight", "t.q.weight_scale"}, {"t."}, {});
  request.quantized = true;
  const auto report = check_coverage(request);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.refusal().what.find("1 of the model's tensors"), std::string::npos);
}

}  // namespace
}  // namespace dlo::host_weights
