// Goal: presets of every family make folders that are read back as pipelines, with the published
// lists of tensors. Method: golden lists line by line; small presets in memory.
#include "host_weights/seeded_checkpoint/presets.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "base/codes.h"
#include "base/sha256.h"
#include "host_weights/model_index.h"
#include "host_weights/safetensors/checkpoint_index.h"
#include "host_weights/seeded_checkpoint/seeded_checkpoint.h"
#include "platform/cpu/thread_executor.h"
#include "tests/support/memory_file_system.h"
#include "tests/unit/host_weights/seeded_checkpoint/golden_lines.h"

namespace dlo::host_weights {
namespace {

class PresetTest : public testing::Test {
 protected:
  SeededCheckpointReport create(const std::string& preset, StoredDType dtype) {
    SeededCheckpointOptions options;
    options.preset = preset;
    options.seed = 7;
    options.dtype = dtype;
    options.out = "/" + preset;
    options.shard_bytes = 60'000;
    const auto report = create_seeded_checkpoint(files_, executor_, options);
    EXPECT_TRUE(report.ok()) << report.refusal().message();
    return *report;
  }
  ComponentCheckpoint component(const platform::Path& folder) {
    return ComponentCheckpoint::open(files_, folder).value();
  }

  test_support::MemoryFileSystem files_;
  platform::ThreadExecutor executor_{2};
};

TEST(Presets, FluxDev_EqualsTheGoldenList) {
  const auto model = seeded_model("flux_dev", std::nullopt).value();
  EXPECT_EQ(model.blocks, 57);
  const auto lines = lines_of(model.transformers.at(0).tensors, StoredDType::kBF16);
  EXPECT_EQ(lines, golden_lines("flux.1_dev.tsv"));
  EXPECT_EQ(lines.size(), 1160U);
}

TEST(Presets, H3Full_EqualsTheGoldenList) {
  const auto model = seeded_model("h3_full", std::nullopt).value();
  const auto lines = lines_of(model.transformers.at(0).tensors, StoredDType::kMixed);
  EXPECT_EQ(lines, golden_lines("minimax_h3_native.tsv"));
  EXPECT_EQ(lines.size(), 535U);
}

TEST(Presets, Depth_IsCutPerFamily) {
  const auto config = [](const char* preset, std::int64_t blocks) {
    return seeded_model(preset, blocks).value().transformers.at(0).config;
  };
  EXPECT_EQ(config("flux_dev", 6)["num_layers"], 2);
  EXPECT_EQ(config("flux_dev", 6)["num_single_layers"], 4);
  EXPECT_EQ(config("h3_full", 16), seeded_model("h3_16", std::nullopt)->transformers.at(0).config);
  EXPECT_EQ(seeded_model("flux_tiny", 1).refusal().code, codes::kInvalidValue);
  EXPECT_EQ(seeded_model("h3_tiny", 0).refusal().code, codes::kInvalidValue);
}

TEST(Presets, Names_AreOfEveryFamilyAndUnique) {
  const auto names = preset_names();
  EXPECT_EQ(std::set<std::string_view>(names.begin(), names.end()).size(), names.size());
  for (const auto name : names) {
    EXPECT_TRUE(seeded_model(name, std::nullopt).ok()) << name;
  }
  const auto unknown = seeded_model("flux_dav", std::nullopt);
  EXPECT_EQ(unknown.refusal().code, codes::kInvalidValue);
  EXPECT_EQ(unknown.refusal().action, "did you mean 'flux_dev'?");
}

TEST_F(PresetTest, SmallPresetsOfEveryFamily_AreReadBackAsPipelines) {
  for (const char* preset : {"wan_tiny", "wan_2_2_tiny", "flux_tiny", "h3_tiny"}) {
    const auto report = create(preset, StoredDType::kMixed);
    const auto configs = read_pipeline_configs(files_, std::string("/") + preset);
    ASSERT_TRUE(configs.ok()) << configs.refusal().message();
    std::uint64_t tensors = 0;
    for (const auto& transformer : configs->transformers) {
      tensors += component(transformer.file.parent_path()).tensors().size();
      EXPECT_EQ(transformer.config["_dlo_preset"], preset);
    }
    EXPECT_EQ(tensors, report.tensor_count) << preset;
  }
}

TEST_F(PresetTest, Wan22_HasTwoTransformersOfOtherValuesAndABoundary) {
  static_cast<void>(create("wan_2_2_tiny", StoredDType::kF32));
  const auto configs = read_pipeline_configs(files_, "/wan_2_2_tiny");
  ASSERT_TRUE(configs.ok());
  ASSERT_EQ(configs->transformers.size(), 2U);
  EXPECT_EQ(configs->index.fields["boundary_ratio"], 0.875);
  std::set<std::string> digests;
  for (const char* name : {"transformer", "transformer_2"}) {
    const auto checkpoint = component(platform::Path("/wan_2_2_tiny") / name);
    for (const auto& tensor : checkpoint.tensors()) {
      digests.insert(sha256_hex(checkpoint.view(tensor).bytes));
    }
  }
  EXPECT_EQ(digests.size(), 2U * 96U);
}

TEST_F(PresetTest, H3_HasNoSchedulerAndKeepsItsShifts) {
  static_cast<void>(create("h3_tiny", StoredDType::kMixed));
  const auto configs = read_pipeline_configs(files_, "/h3_tiny");
  ASSERT_TRUE(configs.ok()) << configs.refusal().message();
  EXPECT_TRUE(configs->scheduler.entry.name.empty());
  EXPECT_EQ(configs->index.fields["_minimax_h3"]["sigma_shift_scales"]["audio"], 3.0);
}

TEST_F(PresetTest, H3Frequencies_AreTheRotaryTableAtAnySeed) {
  static_cast<void>(create("h3_tiny", StoredDType::kMixed));
  const auto view = component("/h3_tiny/transformer").view("rope.inv_freq");
  ASSERT_TRUE(view.ok());
  ASSERT_EQ(view->shape, Shape{4});
  float values[4] = {};
  std::memcpy(values, view->bytes.data(), sizeof(values));
  for (int i = 0; i < 4; ++i) {
    EXPECT_FLOAT_EQ(values[i], static_cast<float>(std::pow(10000.0, -i / 4.0)));
  }
}

TEST_F(PresetTest, StoredDTypes_AreWhatWasAskedFor) {
  for (const auto stored : {StoredDType::kF32, StoredDType::kBF16}) {
    const std::string preset = stored == StoredDType::kF32 ? "h3_tiny" : "flux_tiny";
    static_cast<void>(create(preset, stored));
    const auto checkpoint = component("/" + preset + "/transformer");
    for (const auto& tensor : checkpoint.tensors()) {
      EXPECT_EQ(checkpoint.record(tensor).dtype,
                stored == StoredDType::kF32 ? DType::kF32 : DType::kBF16);
    }
  }
}

}  // namespace
}  // namespace dlo::host_weights
