// Goal: presets have the published shapes and their config.json is the one that diffusers writes.
// Method: the config that diffusers wrote for the tiny model, and a round trip of every preset.
#include "host_weights/seeded_checkpoint/wan_shape.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/codes.h"

namespace dlo::host_weights {
namespace {

TEST(WanShape, EveryPreset_SurvivesTheWayThroughConfigJson) {
  for (const auto& preset : wan_presets()) {
    const auto back = parse_wan_config(wan_config_json(preset.shape), "config.json");
    ASSERT_TRUE(back.ok()) << back.refusal().message();
    EXPECT_EQ(*back, preset.shape) << preset.name;
  }
}

TEST(WanShape, TinyPreset_HasTheConfigThatDiffusersWrote) {
  std::ifstream file(std::string(DLO_GOLDEN_ROOT) + "/wan_tiny/checkpoint/transformer/config.json");
  EXPECT_EQ(wan_config_json(wan_preset("wan_tiny")->shape), nlohmann::json::parse(file));
}

TEST(WanShape, PublishedPresets_HaveThePublishedSizes) {
  const auto small = wan_preset("wan_1_3b")->shape;
  EXPECT_EQ(small.hidden(), 1536);
  EXPECT_EQ(small.num_layers, 30);
  const auto large = wan_preset("wan_14b")->shape;
  EXPECT_EQ(large.hidden(), 5120);
  EXPECT_EQ(large.ffn_dim, 13824);
  EXPECT_EQ(large.num_layers, 40);
}

TEST(WanShape, MisspeltPreset_IsRefusedWithTheNearest) {
  const auto preset = wan_preset("wan_1.3b");
  ASSERT_FALSE(preset.ok());
  EXPECT_EQ(preset.refusal().code, codes::kInvalidValue);
  EXPECT_NE(preset.refusal().action.find("wan_1_3b"), std::string::npos);
}

}  // namespace
}  // namespace dlo::host_weights
