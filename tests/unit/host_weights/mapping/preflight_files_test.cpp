// Goal: a damaged or odd checkpoint folder gives the preflight's fallback code and then a clear
// error of the ordinary loader, or loads; it never gives wrong weights. Method: folders in memory,
// one damage each, put to the preflight and to the ordinary loader in turn.
#include <gtest/gtest.h>

#include "base/failure_signal.h"
#include "host_weights/ordinary_loader.h"
#include "platform/cpu/cpu_device.h"
#include "platform/cpu/thread_executor.h"
#include "platform/posix/steady_clock.h"
#include "tests/unit/host_weights/mapping/mapping_fixtures.h"

namespace dlo::host_weights {
namespace {

constexpr const char* kFolder = "/m/transformer";
constexpr const char* kSecondShard = "/m/transformer/model-00002-of-00002.safetensors";

class CheckpointFolderTest : public testing::Test {
 protected:
  void write() { test::write_sharded(files_, kFolder, test::stored_as_it_runs(dit_)); }

  // Expects the preflight to fall back for the reason `obstacle`, and the ordinary loader, which
  // then has its turn, to refuse with `code`.
  void expect_refused(std::string_view obstacle, std::string_view code) {
    const auto plan = preflight_checkpoint(files_, test::request_for(dit_));
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.refusal().code, codes::kCheckpointPlanIncompatible);
    EXPECT_TRUE(plan.refusal().what.starts_with(obstacle)) << plan.refusal().message();
    const auto loaded = load();
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.refusal().code, code) << loaded.refusal().message();
    EXPECT_FALSE(loaded.refusal().where.empty());
    EXPECT_FALSE(loaded.refusal().action.empty());
  }
  Result<LoadedTensors> load() {
    LoadRequest request;
    request.sources = test::request_for(dit_).sources;
    request.tensors = test::tensors_of(dit_);
    platform::ThreadExecutor executor(1);
    return load_ordinary(files_, *device_, executor, request);
  }

  const test::DitSpec dit_ = test::plain_dit();
  test::MemoryFileSystem files_;
  platform::SteadyClock clock_;
  std::unique_ptr<FailureSignal> signal_ = make_local_failure_signal();
  std::unique_ptr<platform::Device> device_ = platform::make_cpu_device({}, clock_, *signal_);
};

TEST_F(CheckpointFolderTest, SymlinkToItself_IsUnreadable) {
  files_.put_directory("/m");
  files_.put_symlink(kFolder, kFolder);
  expect_refused(plan_obstacles::kIo, codes::kFileUnreadable);
}

TEST_F(CheckpointFolderTest, SymlinkBackUpInASearchedTree_Ends) {
  write();
  files_.put_symlink("/m/transformer/again", kFolder);
  auto request = test::request_for(dit_);
  request.sources.clear();
  request.remap_key = [](const std::string& key) { return "transformer." + key; };
  const auto plan = preflight_checkpoint(files_, request);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.refusal().code, codes::kCheckpointPlanIncompatible);
}

// Bug case FM-11: the index names a shard that is not there.
TEST_F(CheckpointFolderTest, ShardOfTheIndexMissing_IsNeverReplacedByWhatIsThere) {
  write();
  ASSERT_TRUE(files_.remove_file(kSecondShard).ok());
  expect_refused(plan_obstacles::kMissingFile, codes::kMissingShard);
}

TEST_F(CheckpointFolderTest, ShardOfTheIndexIsADirectory_IsRefused) {
  write();
  ASSERT_TRUE(files_.remove_file(kSecondShard).ok());
  files_.put_directory(kSecondShard);
  expect_refused(plan_obstacles::kIo, codes::kFileUnreadable);
}

TEST_F(CheckpointFolderTest, ShardOfTheIndexIsADanglingSymlink_IsRefused) {
  write();
  ASSERT_TRUE(files_.remove_file(kSecondShard).ok());
  files_.put_symlink(kSecondShard, "/nowhere");
  expect_refused(plan_obstacles::kMissingFile, codes::kMissingShard);
}

TEST_F(CheckpointFolderTest, ShardOfTheIndexIsEmpty_IsRefused) {
  write();
  files_.put(kSecondShard, "");
  expect_refused(plan_obstacles::kIo, codes::kSafetensorsInvalid);
}

TEST_F(CheckpointFolderTest, UnreadableShard_IsRefused) {
  write();
  files_.set_unreadable(kSecondShard);
  expect_refused(plan_obstacles::kIo, codes::kFileUnreadable);
}

TEST_F(CheckpointFolderTest, TwoIndicesThatAgree_ArePlannedAndRefusedByTheOrdinaryLoader) {
  write();
  files_.put("/m/transformer/other.safetensors.index.json",
             *files_.contents(platform::Path(kFolder) / test::kIndexName));
  EXPECT_TRUE(preflight_checkpoint(files_, test::request_for(dit_)).ok());
  EXPECT_EQ(load().refusal().code, codes::kAmbiguousIndex);
}

TEST_F(CheckpointFolderTest, TwoIndicesThatDiffer_AreADuplicateMapping) {
  write();
  test::write_index(files_, "/m/transformer/other.safetensors.index.json",
                    {{"proj.weight", "model-00002-of-00002.safetensors"}});
  expect_refused(plan_obstacles::kDuplicateMapping, codes::kAmbiguousIndex);
}

TEST_F(CheckpointFolderTest, KeyInTwoFilesWithoutIndex_IsADuplicateMapping) {
  const auto stored = test::stored_as_it_runs(dit_);
  test_support::write_safetensors(files_, "/m/transformer/a.safetensors", stored);
  test_support::write_safetensors(files_, "/m/transformer/b.safetensors", {stored.back()});
  expect_refused(plan_obstacles::kDuplicateMapping, codes::kDuplicateTensor);
}

TEST_F(CheckpointFolderTest, KeyInTwoShardsOfAnIndex_IsADuplicateMapping) {
  write();
  const auto stored = test::stored_as_it_runs(dit_);
  // The second shard once more, with a tensor that the index places in the first.
  std::vector<test::StoredTensor> second;
  for (std::size_t i = 1; i < stored.size(); i += 2) {
    second.push_back(stored[i]);
  }
  second.push_back(stored[0]);
  ASSERT_TRUE(files_.remove_file(kSecondShard).ok());
  test_support::write_safetensors(files_, kSecondShard, second);
  expect_refused(plan_obstacles::kDuplicateMapping, codes::kDuplicateTensor);
}

TEST_F(CheckpointFolderTest, KeyInAnotherShardThanTheIndexSays_IsAMissingKey) {
  const auto stored = test::stored_as_it_runs(dit_);
  const std::vector<test::StoredTensor> rest(stored.begin() + 1, stored.end());
  test_support::write_safetensors(files_, "/m/transformer/a.safetensors", {stored.front()});
  test_support::write_safetensors(files_, "/m/transformer/b.safetensors", rest);
  std::vector<std::pair<std::string, std::string>> shard_of = {{stored[0].name, "b.safetensors"},
                                                               {stored[1].name, "a.safetensors"}};
  for (std::size_t i = 2; i < stored.size(); ++i) {
    shard_of.emplace_back(stored[i].name, "b.safetensors");
  }
  test::write_index(files_, platform::Path(kFolder) / test::kIndexName, shard_of);
  expect_refused(plan_obstacles::kMissingKey, codes::kMissingTensor);
}

TEST_F(CheckpointFolderTest, BrokenIndex_IsNoReasonToTakeEveryFile) {
  write();
  files_.put(platform::Path(kFolder) / test::kIndexName, "{");
  expect_refused(plan_obstacles::kIo, codes::kIndexInvalid);
}

TEST_F(CheckpointFolderTest, EmptyFolder_IsRefused) {
  files_.put_directory(kFolder);
  expect_refused(plan_obstacles::kNothingIndexed, codes::kEmptyCheckpoint);
}

TEST_F(CheckpointFolderTest, OnlyPickles_AreRefusedAsAnotherFormat) {
  files_.put("/m/transformer/diffusion_pytorch_model.bin", "pickle");
  expect_refused(plan_obstacles::kNothingIndexed, codes::kUnsupportedFormat);
}

TEST_F(CheckpointFolderTest, FolderThatIsNotThere_IsRefused) {
  files_.put_directory("/m");
  expect_refused(plan_obstacles::kMissingFile, codes::kFileNotFound);
}

TEST_F(CheckpointFolderTest, StrayFileBesideAnIndex_IsIgnored) {
  write();
  test_support::write_safetensors(files_, "/m/transformer/stray.safetensors",
                                  {test::drawn_tensor("proj.weight", DType::kF32, {1})});
  const auto plan = preflight_checkpoint(files_, test::request_for(dit_));
  ASSERT_TRUE(plan.ok()) << plan.refusal().message();
  EXPECT_TRUE(load().ok());
}

}  // namespace
}  // namespace dlo::host_weights
