// Goal: the MiniMax-H3 transformer, both of its heads and its sampling loop compute what diffusers
// computes, from the native checkpoint. Method: weights, inputs and expected tensors of the golden
// folder; every parameter in turn made neutral must be noticed.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "platform/posix/posix_file_system.h"
#include "tests/golden/comparison.h"
#include "tests/golden/h3_golden.h"

namespace dlo::golden {
namespace {

constexpr std::size_t kLoopSteps = 4;

GoldenTensors expected(bool mixed) {
  const platform::PosixFileSystem files;
  const auto stored =
      read_golden_tensors(files, fixtures() / "h3_tiny" / "expected.safetensors").value();
  const std::string prefix = "mixed.";
  GoldenTensors out;
  for (const auto& [name, tensor] : stored) {
    if (name.starts_with(prefix) == mixed) {
      out.emplace(mixed ? name.substr(prefix.size()) : name, tensor);
    }
  }
  return out;
}

std::unique_ptr<H3Golden> open(const model::ModelOptions& options = {}) {
  const platform::PosixFileSystem files;
  return H3Golden::open(files, fixtures() / "h3_tiny", options).value();
}

GoldenTensors forward_and_loop(H3Golden& golden) {
  GoldenTensors computed = golden.compute_forward();
  computed.merge(golden.compute_loop(kLoopSteps));
  return computed;
}

TEST(H3Golden, NativeFolder_EveryTensorMatches) {
  const Comparison comparison = compare(expected(/*mixed=*/false), forward_and_loop(*open()));
  std::cout << comparison.text();
  EXPECT_TRUE(comparison.passed()) << comparison.text();
  EXPECT_TRUE(comparison.not_compared.empty());
  EXPECT_EQ(comparison.compared.size(), 39U);
}

TEST(H3Golden, FusedAttention_MatchesWithinTolerance) {
  model::ModelOptions options;
  options.attention = model::AttentionBackend::kFused;
  const Comparison comparison =
      compare(expected(/*mixed=*/false), forward_and_loop(*open(options)));
  EXPECT_TRUE(comparison.passed()) << comparison.text();
}

// As upstream runs it: blocks in BF16, edges in fp32. A bound, not golden values.
TEST(H3Golden, MixedArithmetic_StaysWithinUpstreamsBound) {
  model::ModelOptions options;
  options.runtime_dtype = DType::kBF16;
  options.compute_dtype = DType::kBF16;
  const GoldenTensors computed = open(options)->compute_forward();
  const GoldenTensors wanted = expected(/*mixed=*/true);
  EXPECT_EQ(wanted.size(), 6U);
  for (const auto& [name, tensor] : wanted) {
    const auto& values = computed.at(name).values;
    ASSERT_EQ(values.size(), tensor.values.size()) << name;
    double largest = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double error = std::abs(static_cast<double>(values[i]) - tensor.values[i]);
      largest = std::isnan(error) ? 1e9 : std::max(largest, error);
    }
    std::cout << name << " " << largest << "\n";
    EXPECT_LE(largest, 5e-2) << name;
  }
}

TEST(H3Golden, RequestOfTheFixturesSizes_HasTheFixturesLayout) {
  const auto made = model::make_packed_layout(
      {.text_rows = 5, .conditioning_grid = {2, 2}, .audio_rows = 6, .video_grid = {3, 2, 2}});
  EXPECT_EQ(*made, open()->stated_layout());
}

TEST(H3Golden, AnyParameterNeutralised_ComparisonFails) {
  const GoldenTensors wanted = expected(/*mixed=*/false);
  const auto golden = open();
  ASSERT_TRUE(compare(wanted, golden->compute_forward()).passed());
  const contracts::ParameterTable table = golden->weights().table();
  for (const auto* spec : table.tensors()) {
    const ByteSpan bytes = golden->weights().bytes(spec->name);
    const std::vector<std::byte> original(bytes.begin(), bytes.end());
    const bool gain =
        spec->name.find("norm") != std::string::npos && spec->name.ends_with(".weight");
    const std::vector<float> neutral(bytes.size() / sizeof(float), gain ? 1.0F : 0.0F);
    const auto plain = std::as_bytes(std::span(neutral));
    std::copy(plain.begin(), plain.end(), bytes.begin());
    EXPECT_FALSE(compare(wanted, golden->compute_forward()).passed()) << spec->name;
    std::copy(original.begin(), original.end(), bytes.begin());
  }
  EXPECT_TRUE(compare(wanted, golden->compute_forward()).passed());
}

}  // namespace
}  // namespace dlo::golden
