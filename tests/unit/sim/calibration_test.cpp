// Goal: calibrations keep every figure and its source through JSON, refuse what they do not know,
// and the built-in ones say where each figure comes from.
// Method: round trips, one broken document a rule, a walk over the built-in tables.
#include <gtest/gtest.h>

#include "engine/simulation/preset_blocks.h"
#include "tests/unit/sim/prediction_fixtures.h"

namespace dlo::engine {
namespace {

using nlohmann::json;

json document() {
  return calibration_to_json(plain_calibration());
}

Refusal refusal_of(const json& broken) {
  const auto result = calibration_from_json(broken, "file.json");
  return result.ok() ? Refusal{"accepted", "", "", ""} : result.refusal();
}

TEST(Calibration, BuiltinTables_SurviveJson) {
  for (const auto name : builtin_calibration_names()) {
    const auto calibration = builtin_calibration(name).value();
    EXPECT_EQ(calibration.name, name);
    const auto text = calibration_to_json(calibration).dump();
    const auto again = calibration_from_json(json::parse(text), "text");
    ASSERT_TRUE(again.ok()) << again.refusal().message();
    EXPECT_EQ(*again, calibration);
  }
}

TEST(Calibration, BuiltinTables_EveryFigureHasASource) {
  for (const auto name : builtin_calibration_names()) {
    const auto text = calibration_to_json(builtin_calibration(name).value());
    for (const auto* link : {"h2d", "gather"}) {
      for (const auto& [ranks, figure] : text.at(link).at("bytes_per_s").items()) {
        EXPECT_FALSE(figure.at("source").get<std::string>().empty()) << name << link << ranks;
      }
    }
    for (const auto& [key, figure] : text.at("host").items()) {
      EXPECT_FALSE(figure.at("source").get<std::string>().empty()) << name << key;
    }
  }
}

TEST(Calibration, BuiltinTables_MarkWhatNobodyMeasured) {
  const auto h200 = builtin_calibration("h200").value();
  EXPECT_EQ(h200.h2d_rate(4)->evidence, Evidence::kMeasured);
  EXPECT_EQ(h200.h2d_rate(8)->evidence, Evidence::kExtrapolated);
  EXPECT_EQ(h200.gather_rate(8)->evidence, Evidence::kMeasured);
  EXPECT_EQ(builtin_calibration("b300")->h2d_rate(4)->evidence, Evidence::kMeasured);
  EXPECT_EQ(builtin_calibration("b300")->h2d_rate(1)->evidence, Evidence::kExtrapolated);
  EXPECT_EQ(builtin_calibration("l20x")->gather_rate(4)->evidence, Evidence::kExtrapolated);
}

TEST(Calibration, UnknownDevice_NamesTheNearest) {
  const auto refusal = builtin_calibration("h20").refusal();
  EXPECT_EQ(refusal.code, "invalid_value");
  EXPECT_EQ(refusal.action, "did you mean 'h200'?");
}

TEST(Calibration, PlainNumber_TakesTheSourceOfTheWhole) {
  auto changed = document();
  changed["source"] = "bench of today";
  changed["h2d"]["bytes_per_s"] = {{"2", 5e10}};
  const auto calibration = calibration_from_json(changed, "file.json").value();
  EXPECT_EQ(calibration.h2d_rate(2)->value, 5e10);
  EXPECT_EQ(calibration.h2d_rate(2)->source, "bench of today");
}

TEST(Calibration, UnknownKey_NamesTheNearest) {
  auto top = document();
  top["gathr"] = 1;
  EXPECT_EQ(refusal_of(top).code, "unknown_option");
  EXPECT_EQ(refusal_of(top).action, "did you mean 'gather'?");
  EXPECT_EQ(refusal_of(top).where, "file.json");
  auto nested = document();
  nested["host"]["copy_us"] = 1;
  EXPECT_EQ(refusal_of(nested).action, "did you mean 'copy_ns'?");
  auto deep = document();
  deep["host"]["copy_ns"]["sauce"] = "x";
  EXPECT_EQ(refusal_of(deep).action, "did you mean 'source'?");
}

TEST(Calibration, WrongValue_IsRefused) {
  const auto broken = [](const char* pointer, const json& value) {
    auto changed = document();
    changed[json::json_pointer(pointer)] = value;
    return refusal_of(changed).code;
  };
  EXPECT_EQ(broken("/name", ""), "invalid_value");
  EXPECT_EQ(broken("/h2d", 3), "invalid_value");
  EXPECT_EQ(broken("/h2d/bytes_per_s", json::object()), "invalid_value");
  EXPECT_EQ(broken("/h2d/bytes_per_s/2", 0), "invalid_value");
  EXPECT_EQ(broken("/h2d/bytes_per_s/two", 1e9), "invalid_value");
  EXPECT_EQ(broken("/h2d/bytes_per_s/0", 1e9), "invalid_value");
  EXPECT_EQ(broken("/h2d/latency_ns", -1), "invalid_value");
  EXPECT_EQ(broken("/host/block_ns", "fast"), "invalid_value");
  EXPECT_EQ(broken("/host/block_ns/extrapolated", 1), "invalid_value");
  EXPECT_EQ(broken("/compute/lost_beside_gather", 1.0), "invalid_value");
  EXPECT_EQ(refusal_of(json::array()).code, "invalid_value");
  auto missing = document();
  missing["host"].erase("gather_ns");
  EXPECT_EQ(refusal_of(missing).code, "invalid_value");
}

// The measured model's own figures: 702.8 MB and 92.9 MB a block.
double bytes_of(const PresetBlock& block) {
  return static_cast<double>(block.bytes);
}

TEST(PresetBlocks, Wan_HaveTheirMeasuredSizes) {
  const auto large = preset_blocks("wan_14b", std::nullopt, 32'760).value();
  EXPECT_EQ(large.size(), 40U);
  EXPECT_NEAR(bytes_of(large.front()), 702.8e6, 0.1e6);
  EXPECT_NEAR(large.back().flops, 41.9e12, 0.1e12);
  const auto small = preset_blocks("wan_1_3b", 2, 0).value();
  EXPECT_EQ(small.size(), 2U);
  EXPECT_NEAR(bytes_of(small.front()), 92.9e6, 0.1e6);
  EXPECT_EQ(small.front().flops, 0.0);
  EXPECT_EQ(preset_blocks("wan_15b", std::nullopt, 0).refusal().action, "did you mean 'wan_14b'?");
}

TEST(PresetBlocks, Flux_IsOneRingOfTwoSizes) {
  const auto ring = preset_blocks("flux_dev", std::nullopt, 4'096).value();
  ASSERT_EQ(ring.size(), 57U);
  EXPECT_NEAR(bytes_of(ring[18]) / kMiB, 648.2, 0.1);
  EXPECT_NEAR(bytes_of(ring[19]) / kMiB, 270.1, 0.1);
  // Two thirds of a dual block's weights meet a token, a half of them of text alone.
  EXPECT_NEAR(ring.front().flops, 2 * 113.2e6 * (4'096 + 512) + 4.0 * 4'608 * 4'608 * 3'072, 2e10);
  EXPECT_NEAR(ring.back().flops, 2 * 113.2e6 * 4'608 + 4.0 * 4'608 * 4'608 * 3'072, 2e10);
}

TEST(PresetBlocks, H3_StartsWithItsRefinerAndLeavesItsModulationOut) {
  const auto walk = preset_blocks("h3_16", std::nullopt, 5'000).value();
  ASSERT_EQ(walk.size(), 2U + 16U);
  EXPECT_TRUE(walk[1].of_refiner);
  EXPECT_FALSE(walk[2].of_refiner);
  EXPECT_NEAR(bytes_of(walk[1]) / kMiB, 735.1, 0.1) << "no modulation of its own";
  EXPECT_NEAR(walk[1].flops, 2 * 385.4e6 * 512 + 4.0 * 512 * 512 * 7'168, 2e9);
  EXPECT_NEAR(bytes_of(walk[2]) / kMiB, 1231.3, 0.1);
  EXPECT_NEAR(walk[2].flops, 2 * 385.4e6 * 5'000 + 4.0 * 25e6 * 7'168, 2e10);
}

}  // namespace
}  // namespace dlo::engine
