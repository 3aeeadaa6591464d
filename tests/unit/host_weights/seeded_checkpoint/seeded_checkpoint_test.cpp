// Goal: a seeded checkpoint is a whole diffusers folder whose bytes depend on (name, seed) alone,
// and a failure at any step leaves nothing behind. Method: small presets in memory; the failing
// step walks through every call that changes something.
#include "host_weights/seeded_checkpoint/seeded_checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "base/codes.h"
#include "base/sha256.h"
#include "base/value_generator.h"
#include "host_weights/model_index.h"
#include "host_weights/safetensors/checkpoint_index.h"
#include "host_weights/seeded_checkpoint/wan_tensors.h"
#include "platform/cpu/thread_executor.h"
#include "tests/support/memory_file_system.h"

namespace dlo::host_weights {
namespace {

using test_support::MemoryFileSystem;

SeededCheckpointOptions tiny(StoredDType dtype = StoredDType::kF32) {
  SeededCheckpointOptions options;
  options.preset = "wan_tiny";
  options.seed = 42;
  options.dtype = dtype;
  options.out = "/data/out";
  return options;
}

// Every file of the folder with its contents.
std::map<std::string, std::string> folder_of(const MemoryFileSystem& files) {
  std::map<std::string, std::string> all;
  for (const auto& name : files.all_files()) {
    all[name] = files.contents(name).value();
  }
  return all;
}

std::map<std::string, std::string> made(const SeededCheckpointOptions& options,
                                        std::size_t workers) {
  MemoryFileSystem files;
  platform::ThreadExecutor executor(workers);
  const auto report = create_seeded_checkpoint(files, executor, options);
  EXPECT_TRUE(report.ok()) << report.refusal().message();
  return folder_of(files);
}

class SeededCheckpointTest : public testing::Test {
 protected:
  Result<SeededCheckpointReport> create(const SeededCheckpointOptions& options) {
    return create_seeded_checkpoint(files_, executor_, options);
  }
  ComponentCheckpoint transformer() {
    return ComponentCheckpoint::open(files_, "/data/out/transformer").value();
  }

  MemoryFileSystem files_;
  platform::ThreadExecutor executor_{2};
};

TEST_F(SeededCheckpointTest, AnyThreadCount_MakesTheSameBytes) {
  auto options = tiny(StoredDType::kMixed);
  options.preset = "wan_cpu";
  options.blocks = 1;
  options.shard_bytes = 3 * kMiB;
  const auto one = made(options, 1);
  EXPECT_EQ(one.size(), 6U);  // model index, two configs, shard index, two shards
  EXPECT_TRUE(one == made(options, 2));
  EXPECT_TRUE(one == made(options, 5));
}

TEST_F(SeededCheckpointTest, AnotherSeed_MakesOtherBytesInEveryTensor) {
  ASSERT_TRUE(create(tiny()).ok());
  const auto first = transformer();
  std::set<std::string> digests;
  for (const auto& tensor : first.tensors()) {
    digests.insert(sha256_hex(first.view(tensor).bytes));
  }
  EXPECT_EQ(digests.size(), 96U);  // no two tensors are alike either
  auto other = tiny();
  other.seed = 43;
  other.out = "/data/other";
  ASSERT_TRUE(create(other).ok());
  const auto second = ComponentCheckpoint::open(files_, "/data/other/transformer").value();
  for (const auto& tensor : second.tensors()) {
    digests.insert(sha256_hex(second.view(tensor).bytes));
  }
  EXPECT_EQ(digests.size(), 192U);
}

TEST_F(SeededCheckpointTest, Folder_IsReadBackAsAPipeline) {
  const auto report = create(tiny());
  ASSERT_TRUE(report.ok()) << report.refusal().message();
  EXPECT_EQ(report->tensor_count, 96U);
  EXPECT_EQ(report->parameter_count * sizeof(float), report->tensor_bytes);
  EXPECT_EQ(report->shard_count, 1U);
  const auto configs = read_pipeline_configs(files_, "/data/out");
  ASSERT_TRUE(configs.ok()) << configs.refusal().message();
  EXPECT_EQ(configs->index.pipeline_class, "WanPipeline");
  EXPECT_EQ(configs->scheduler.entry.class_name, "FlowMatchEulerDiscreteScheduler");
  EXPECT_EQ(configs->scheduler.config["shift"], 3.0);
  EXPECT_EQ(configs->transformers.at(0).config["_dlo_seed"], 42U);
  EXPECT_EQ(*parse_wan_config(configs->transformers.at(0).config, ""),
            wan_preset("wan_tiny")->shape);
}

TEST_F(SeededCheckpointTest, ShardLimit_MakesShardsWithAnIndex) {
  auto options = tiny();
  options.shard_bytes = 60'000;
  const auto report = create(options);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->shard_count, 3U);
  const auto checkpoint = transformer();
  EXPECT_EQ(checkpoint.files().size(), 3U);
  EXPECT_EQ(checkpoint.tensors().size(), 96U);
  EXPECT_TRUE(checkpoint.notes().empty());
  const auto index = nlohmann::json::parse(
      files_.contents("/data/out/transformer/diffusion_pytorch_model.safetensors.index.json")
          .value());
  EXPECT_EQ(index["metadata"]["total_size"], report->tensor_bytes);
}

TEST_F(SeededCheckpointTest, TensorMadeAlone_EqualsTheFile) {
  ASSERT_TRUE(create(tiny(StoredDType::kMixed)).ok());
  const auto checkpoint = transformer();
  for (const auto& tensor : wan_tensors(wan_preset("wan_tiny")->shape)) {
    const auto stored = checkpoint.view(tensor.name);
    ASSERT_TRUE(stored.ok()) << tensor.name;
    EXPECT_EQ(stored->shape, tensor.shape);
    std::vector<std::byte> alone(stored->bytes.size());
    fill_seeded_tensor(tensor, 42, stored->dtype, 0, alone);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), stored->bytes.begin())) << tensor.name;
  }
}

TEST_F(SeededCheckpointTest, Bf16Checkpoint_IsTheRoundedFp32One) {
  ASSERT_TRUE(create(tiny()).ok());
  const auto wide = transformer();
  auto options = tiny(StoredDType::kBF16);
  options.out = "/data/narrow";
  ASSERT_TRUE(create(options).ok());
  const auto narrow = ComponentCheckpoint::open(files_, "/data/narrow/transformer").value();
  for (const auto& tensor : narrow.tensors()) {
    const auto rounded = narrow.view(tensor);
    ASSERT_EQ(rounded.dtype, DType::kBF16);
    const auto exact = wide.view(tensor.name).value();
    for (std::size_t i = 0; i < rounded.bytes.size() / 2; ++i) {
      float value = 0;
      std::uint16_t stored = 0;
      std::memcpy(&value, exact.bytes.data() + i * sizeof(value), sizeof(value));
      std::memcpy(&stored, rounded.bytes.data() + i * sizeof(stored), sizeof(stored));
      ASSERT_EQ(stored, float_to_bf16(value)) << tensor.name;
    }
  }
}

TEST_F(SeededCheckpointTest, OtherDepth_IsSaidInTheConfig) {
  auto options = tiny();
  options.blocks = 2;
  const auto report = create(options);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->tensor_count, 27U * 2 + 15);
  const auto configs = read_pipeline_configs(files_, "/data/out");
  EXPECT_EQ(configs->transformers.at(0).config["num_layers"], 2);
  EXPECT_EQ(configs->transformers.at(0).config["_dlo_preset_blocks"], 3);
}

TEST_F(SeededCheckpointTest, ImpossibleOptions_AreRefusedBeforeAnythingIsWritten) {
  std::vector<SeededCheckpointOptions> all(4, tiny());
  all[0].preset = "wan_huge";
  all[1].blocks = 0;
  all[2].blocks = kBlockCountLimit + 1;
  all[3].shard_bytes = 0;
  for (const auto& options : all) {
    const auto report = create(options);
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.refusal().code, codes::kInvalidValue);
  }
  EXPECT_EQ(files_.change_count(), 0U);
}

TEST_F(SeededCheckpointTest, OutputThatIsNotEmpty_IsRefusedAndUntouched) {
  files_.put("/data/out/mine", "x");
  const auto before = folder_of(files_);
  const auto report = create(tiny());
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.refusal().code, codes::kFileUnwritable);
  EXPECT_EQ(folder_of(files_), before);
}

TEST_F(SeededCheckpointTest, FailureOfAnyStep_LeavesTheWholeFolderOrNothing) {
  auto options = tiny();
  options.shard_bytes = 60'000;
  ASSERT_TRUE(create(options).ok());
  const auto whole = folder_of(files_);
  const std::size_t steps = files_.change_count();
  ASSERT_GT(steps, 100U);
  std::size_t nothing = 0;
  for (std::size_t step = 1; step <= steps; ++step) {
    MemoryFileSystem files;
    files.fail_change(step);
    const auto report = create_seeded_checkpoint(files, executor_, options);
    ASSERT_FALSE(report.ok()) << "step " << step;
    EXPECT_EQ(report.refusal().code, codes::kFileUnwritable) << "step " << step;
    if (files.all_files().empty()) {
      ++nothing;
    } else {
      // Only the last step, making the new name durable, comes after the rename.
      EXPECT_EQ(folder_of(files), whole) << "step " << step;
    }
  }
  EXPECT_EQ(nothing, steps - 1);
}

}  // namespace
}  // namespace dlo::host_weights
