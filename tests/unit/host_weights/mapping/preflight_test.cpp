// Goal: the preflight says yes to a checkpoint that can be mapped, and refuses with the right code
// and reason otherwise, in the stated order, touching nothing. Method: one good checkpoint in
// memory, one fact flipped at a time; a counting file system witnesses what was read.
#include "host_weights/preflight.h"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

#include "tests/unit/host_weights/mapping/mapping_fixtures.h"

namespace dlo::host_weights {
namespace {

using test::CountedFiles;
using test::DitSpec;
using test::drawn_tensor;
using test::MemoryFileSystem;
using test::spec;
using test::StoredTensor;

class PreflightTest : public testing::Test {
 protected:
  void write() { test::write_sharded(files_, "/m/transformer", stored_); }
  Result<contracts::HostWeightPlan> preflight() { return preflight_checkpoint(files_, request_); }
  // Expects checkpoint_plan_incompatible for the reason `obstacle`, and gives its text.
  std::string reason(std::string_view obstacle) {
    const auto before = files_.change_count();
    const auto plan = preflight();
    EXPECT_FALSE(plan.ok());
    if (plan.ok()) {
      return "";
    }
    EXPECT_EQ(plan.refusal().code, codes::kCheckpointPlanIncompatible);
    EXPECT_TRUE(plan.refusal().what.starts_with(obstacle)) << plan.refusal().message();
    EXPECT_EQ(files_.change_count(), before);
    return plan.refusal().message();
  }
  StoredTensor& stored(const std::string& key) {
    for (auto& tensor : stored_) {
      if (tensor.name == key) {
        return tensor;
      }
    }
    throw LogicError("no such tensor");
  }

  MemoryFileSystem files_;
  const DitSpec dit_ = test::plain_dit();
  std::vector<StoredTensor> stored_ = test::stored_as_it_runs(dit_);
  PreflightRequest request_ = test::request_for(dit_);
};

TEST_F(PreflightTest, CheckpointOfTheModel_GivesAPlanWithEveryTensor) {
  write();
  const auto plan = preflight();
  ASSERT_TRUE(plan.ok()) << plan.refusal().message();
  EXPECT_EQ(plan->backing(), contracts::Backing::kCheckpointMmap);
  EXPECT_EQ(plan->bindings().size(), stored_.size());
  EXPECT_EQ(plan->planned_source_prefixes(), std::set<std::string>{"transformer."});
  EXPECT_TRUE(plan->layout_key().empty());
  EXPECT_FALSE(plan->post_load_complete());
  const auto& binding = plan->bindings().at("transformer.blocks.1.norm1.weight");
  EXPECT_EQ(binding.source_key(), "blocks.1.norm1.weight");
  EXPECT_EQ(binding.dtype, DType::kF32);
}

TEST_F(PreflightTest, FilesWithoutIndex_AreAllListed) {
  const std::vector<StoredTensor> first(stored_.begin(), stored_.begin() + 3);
  const std::vector<StoredTensor> rest(stored_.begin() + 3, stored_.end());
  test_support::write_safetensors(files_, "/m/transformer/a.safetensors", first);
  test_support::write_safetensors(files_, "/m/transformer/b.safetensors", rest);
  const auto plan = preflight();
  ASSERT_TRUE(plan.ok()) << plan.refusal().message();
  EXPECT_EQ(plan->bindings().at(dit_.blocks[0].tensors[0].name).file_path,
            "/m/transformer/a.safetensors");
}

TEST_F(PreflightTest, TensorParallelism_TouchesNoFile) {
  write();
  request_.tensor_parallel_size = 2;
  CountedFiles counted(files_);
  const auto plan = preflight_checkpoint(counted.files(), request_);
  EXPECT_EQ(plan.refusal().code, codes::kUnsupportedTp);
  EXPECT_EQ(plan.refusal().what, "TP=2 requires the ordinary loader");
  EXPECT_EQ(counted.calls(), 0U);
}

TEST_F(PreflightTest, Hsdp_TouchesNoFile) {
  write();
  request_.use_hsdp = true;
  CountedFiles counted(files_);
  EXPECT_EQ(preflight_checkpoint(counted.files(), request_).refusal().code,
            codes::kUnsupportedHsdp);
  EXPECT_EQ(counted.calls(), 0U);
}

TEST_F(PreflightTest, OnlineQuantization_TouchesNoFile) {
  write();
  request_.online_quantization = true;
  CountedFiles counted(files_);
  EXPECT_EQ(preflight_checkpoint(counted.files(), request_).refusal().code,
            codes::kUnsupportedOnlineQuantization);
  EXPECT_EQ(counted.calls(), 0U);
}

TEST_F(PreflightTest, SeveralFactsAgainstIt_TheEarliestRuleSpeaks) {
  request_.tensor_parallel_size = 2;
  request_.use_hsdp = true;
  request_.online_quantization = true;
  EXPECT_EQ(preflight().refusal().code, codes::kUnsupportedTp);
  request_.tensor_parallel_size = 1;
  EXPECT_EQ(preflight().refusal().code, codes::kUnsupportedHsdp);
  request_.use_hsdp = false;
  EXPECT_EQ(preflight().refusal().code, codes::kUnsupportedOnlineQuantization);
}

TEST_F(PreflightTest, SourceWithoutPrefix_IsMixedAndTouchesNoFile) {
  write();
  request_.sources.push_back({"/m", "", "", {}});
  reason(plan_obstacles::kMixedSource);
  CountedFiles counted(files_);
  EXPECT_FALSE(preflight_checkpoint(counted.files(), request_).ok());
  EXPECT_EQ(counted.calls(), 0U);
}

TEST_F(PreflightTest, TransformerWithoutItsOwnSource_IsMixed) {
  write();
  request_.sources[0].prefix = "trans";
  EXPECT_NE(reason(plan_obstacles::kMixedSource).find("'transformer'"), std::string::npos);
}

TEST_F(PreflightTest, OtherComponentsSource_IsNotPlanned) {
  write();
  request_.sources.push_back({"/m", "text_encoder", "text_encoder.", {}});
  const auto plan = preflight();
  ASSERT_TRUE(plan.ok()) << plan.refusal().message();
  EXPECT_EQ(plan->planned_source_prefixes(), std::set<std::string>{"transformer."});
}

TEST_F(PreflightTest, NestedTransformer_ComesFromTheOuterOnesSource) {
  DitSpec child = test::plain_dit("transformer.language_model");
  for (const auto& tensor : test::stored_as_it_runs(child)) {
    stored_.push_back(tensor);
    stored_.back().name = "language_model." + tensor.name;
  }
  write();
  request_.dits.push_back(&child);
  const auto plan = preflight();
  ASSERT_TRUE(plan.ok()) << plan.refusal().message();
  EXPECT_EQ(plan->bindings().size(), stored_.size());
}

TEST_F(PreflightTest, NoSourceAndNoRemapper_IsRefused) {
  write();
  request_.sources.clear();
  reason(plan_obstacles::kNoSource);
}

TEST_F(PreflightTest, NoSourceButARemapper_SearchesTheModelsTree) {
  write();
  request_.sources.clear();
  request_.remap_key = [](const std::string& key) { return "transformer." + key; };
  const auto plan = preflight();
  ASSERT_TRUE(plan.ok()) << plan.refusal().message();
  EXPECT_TRUE(plan->planned_source_prefixes().empty());
}

TEST_F(PreflightTest, RemappedKeys_KeepTheirKeyInTheFile) {
  for (auto& tensor : stored_) {
    tensor.name = "old." + tensor.name;
  }
  stored_.push_back(drawn_tensor("optimizer.step", DType::kF32, {1}));
  write();
  request_.remap_key = [](const std::string& name) -> std::optional<std::string> {
    if (name.find("optimizer") != std::string::npos) {
      return std::nullopt;
    }
    return "transformer." + name.substr(std::string("transformer.old.").size());
  };
  const auto plan = preflight();
  ASSERT_TRUE(plan.ok()) << plan.refusal().message();
  EXPECT_EQ(plan->bindings().at("transformer.proj.weight").source_key(), "old.proj.weight");
}

TEST_F(PreflightTest, TwoKeysThatBecomeOneName_AreADuplicateMapping) {
  stored_.push_back(drawn_tensor("copy.proj.weight", DType::kBF16, {4, test::kHidden}));
  write();
  request_.remap_key = [](const std::string& name) -> std::optional<std::string> {
    const auto at = name.find("copy.");
    return at == std::string::npos ? name : name.substr(0, at) + name.substr(at + 5);
  };
  EXPECT_NE(reason(plan_obstacles::kDuplicateMapping).find("copy.proj.weight"), std::string::npos);
}

TEST_F(PreflightTest, RemapperThatThrows_IsARefusalAndNoException) {
  write();
  request_.remap_key = [](const std::string& name) -> std::optional<std::string> {
    throw std::invalid_argument("no layer of " + name);
  };
  EXPECT_NE(reason(plan_obstacles::kIo).find("no layer of transformer."), std::string::npos);
}

TEST_F(PreflightTest, NothingRequired_IsRefused) {
  write();
  const DitSpec empty{"transformer", {}, {}, {}};
  request_.dits = {&empty};
  reason(plan_obstacles::kNothingRequired);
}

TEST_F(PreflightTest, MissingTensors_AreCountedAndTheFirstFiveNamed) {
  stored_.resize(1);
  write();
  const auto text = reason(plan_obstacles::kMissingBindings);
  EXPECT_NE(text.find("6 of 7 tensors"), std::string::npos) << text;
  EXPECT_NE(text.find("and 1 more"), std::string::npos) << text;
}

TEST_F(PreflightTest, PersistentBufferWithoutSource_IsMissing) {
  std::erase_if(stored_, [](const auto& tensor) { return tensor.name == "blocks.1.scale"; });
  write();
  EXPECT_NE(reason(plan_obstacles::kMissingBindings).find("blocks.1.scale"), std::string::npos);
}

TEST_F(PreflightTest, ComputedBuffer_NeedsNoSourceAndExtraKeysAreTolerated) {
  // The table does not list computed buffers; the checkpoint may hold what nobody asks for.
  stored_.push_back(drawn_tensor("rope.inv_freq", DType::kF32, {4}));
  write();
  EXPECT_TRUE(preflight().ok());
}

TEST_F(PreflightTest, IndexNamesAFileThatIsNotThere_IsAMissingFile) {
  write();
  ASSERT_TRUE(files_.remove_file("/m/transformer/model-00002-of-00002.safetensors").ok());
  reason(plan_obstacles::kMissingFile);
}

TEST_F(PreflightTest, IndexNamesAKeyThatItsFileLacks_IsAMissingKey) {
  write();
  const auto renamed = drawn_tensor("other", DType::kF32, {1});
  test_support::write_safetensors(files_, "/n/x.safetensors", {renamed});
  files_.put("/m/transformer/model-00002-of-00002.safetensors",
             *files_.contents("/n/x.safetensors"));
  reason(plan_obstacles::kMissingKey);
}

TEST_F(PreflightTest, OtherShape_IsRefused) {
  stored("proj.weight") = drawn_tensor("proj.weight", DType::kBF16, {test::kHidden, 4});
  write();
  EXPECT_NE(reason(plan_obstacles::kShape).find("[3, 4]"), std::string::npos);
}

TEST_F(PreflightTest, OtherDType_IsRefused) {
  stored("proj.weight") = drawn_tensor("proj.weight", DType::kF32, {4, test::kHidden});
  write();
  EXPECT_NE(reason(plan_obstacles::kDType).find("F32"), std::string::npos);
}

TEST_F(PreflightTest, RepeatedNameInAFile_IsRefused) {
  write();
  const platform::Path shard = "/m/transformer/model-00001-of-00002.safetensors";
  std::string bytes = *files_.contents(shard);
  // The same entry twice: the reader takes the last, a plan does not guess.
  const std::string key = R"("blocks.0.scale")";
  const auto begin = bytes.find(key);
  ASSERT_NE(begin, std::string::npos);
  const std::string entry = bytes.substr(begin, bytes.find('}', begin) + 1 - begin) + ",";
  bytes.insert(begin, entry);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  length += entry.size();
  std::memcpy(bytes.data(), &length, sizeof(length));
  files_.put(shard, bytes);
  EXPECT_NE(reason(plan_obstacles::kRepeatedName).find("blocks.0.scale"), std::string::npos);
}

TEST_F(PreflightTest, TruncatedFile_IsUnreadable) {
  write();
  files_.truncate("/m/transformer/model-00001-of-00002.safetensors", 100);
  reason(plan_obstacles::kIo);
}

}  // namespace
}  // namespace dlo::host_weights
