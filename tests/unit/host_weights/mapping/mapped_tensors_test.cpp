// Goal: mapped tensors show exactly the bytes of the plan's files, deferred transforms done, hold
// no private memory but overlays, close files with their last tensor, and notice every change of
// the checkpoint. Method: a small model in memory; the CPU device's books witness memory.
#include "host_weights/mapped_tensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/failure_signal.h"
#include "base/sha256.h"
#include "host_weights/ordinary_loader.h"
#include "platform/cpu/cpu_device.h"
#include "platform/cpu/thread_executor.h"
#include "platform/posix/steady_clock.h"
#include "tests/unit/host_weights/mapping/mapping_fixtures.h"

namespace dlo::host_weights {
namespace {

using test::kNorm;
using test::kQkv;

std::vector<std::byte> bytes_of(const TensorView& view) {
  return {view.bytes.begin(), view.bytes.end()};
}

std::vector<std::byte> gathered(const contracts::HostTensors& tensors, const std::string& name) {
  std::vector<std::byte> bytes;
  tensors.for_each_run(name, [&](std::uint64_t offset, ConstByteSpan run) {
    EXPECT_EQ(offset, bytes.size());
    bytes.insert(bytes.end(), run.begin(), run.end());
  });
  return bytes;
}

class MappedTensorsTest : public testing::Test {
 protected:
  void SetUp() override {
    test::write_sharded(files_, "/m/transformer", test::stored_as_it_runs(dit_));
  }
  contracts::HostWeightPlan plan() {
    return preflight_checkpoint(files_, test::request_for(dit_)).value();
  }
  std::unique_ptr<MappedTensors> open() {
    auto opened = MappedTensors::open(files_, plan(), *device_);
    EXPECT_TRUE(opened.ok());
    return std::move(opened).value();
  }
  std::unique_ptr<PrivateTensors> ordinary() {
    LoadRequest request;
    request.sources = test::request_for(dit_).sources;
    request.tensors = test::tensors_of(dit_);
    request.recipes = dit_.loading.recipes;
    platform::ThreadExecutor executor(1);
    return std::move(load_ordinary(files_, *device_, executor, request).value().tensors);
  }
  std::uint64_t pageable_bytes() const { return device_->pageable_memory().now_bytes; }

  const test::DitSpec dit_ = test::grouped_dit();
  test::MemoryFileSystem files_;
  platform::SteadyClock clock_;
  std::unique_ptr<FailureSignal> signal_ = make_local_failure_signal();
  std::unique_ptr<platform::Device> device_ = platform::make_cpu_device({}, clock_, *signal_);
};

TEST_F(MappedTensorsTest, EveryTensor_HasTheBytesOfTheOrdinaryLoader) {
  const auto mapped = open();
  const auto loaded = ordinary();
  EXPECT_EQ(mapped->backing(), contracts::Backing::kCheckpointMmap);
  EXPECT_EQ(loaded->backing(), contracts::Backing::kOrdinary);
  for (const auto* tensor : test::tensors_of(dit_)) {
    const auto wanted = bytes_of(loaded->view(tensor->name));
    EXPECT_EQ(gathered(*mapped, tensor->name), wanted) << tensor->name;
    EXPECT_EQ(bytes_of(mapped->view(tensor->name)), wanted) << tensor->name;
    EXPECT_EQ(mapped->view(tensor->name).shape, tensor->shape);
    EXPECT_EQ(mapped->view(tensor->name).dtype, tensor->dtype);
  }
}

TEST_F(MappedTensorsTest, PlainTensor_IsOneRunAndCostsNoMemory) {
  const auto mapped = open();
  int runs = 0;
  mapped->for_each_run(kNorm, [&](std::uint64_t, ConstByteSpan run) {
    ++runs;
    EXPECT_EQ(run.data(), mapped->view(kNorm).bytes.data());
  });
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(mapped->held_bytes(), 0U);
  EXPECT_EQ(pageable_bytes(), 0U);
}

TEST_F(MappedTensorsTest, DeferredTransform_IsSeveralRunsInOrderOfOffset) {
  const auto mapped = open();
  int runs = 0;
  mapped->for_each_run(kQkv, [&](std::uint64_t, ConstByteSpan) { ++runs; });
  EXPECT_EQ(runs, 3 * test::kHeads);
  EXPECT_EQ(mapped->held_bytes(), 0U);
}

TEST_F(MappedTensorsTest, ViewOfADeferredTransform_IsPrivateUntilReleased) {
  const auto mapped = open();
  const auto size = mapped->view(kQkv).bytes.size();
  EXPECT_EQ(mapped->held_bytes(), size);
  EXPECT_EQ(mapped->view(kQkv).bytes.data(), mapped->view(kQkv).bytes.data());
  mapped->release(kQkv);
  EXPECT_EQ(mapped->held_bytes(), 0U);
}

TEST_F(MappedTensorsTest, LastTensorOfAFile_ClosesIt) {
  const auto mapped = open();
  EXPECT_EQ(mapped->mapped_files().size(), 2U);
  const auto contract = plan();
  const auto first = contract.bindings().begin()->second.file_path;
  for (const auto& [name, binding] : contract.bindings()) {
    if (binding.file_path == first) {
      EXPECT_TRUE(mapped->mapped_files().contains(first));
      mapped->release(name);
      mapped->release(name);
    }
  }
  EXPECT_FALSE(mapped->mapped_files().contains(first));
  EXPECT_EQ(mapped->mapped_files().size(), 1U);
}

TEST_F(MappedTensorsTest, ReleasedAndUnknownNames_AreProgrammersErrors) {
  const auto mapped = open();
  mapped->release(kNorm);
  EXPECT_THROW(static_cast<void>(mapped->view(kNorm)), LogicError);
  EXPECT_THROW(mapped->for_each_run("nobody", [](std::uint64_t, ConstByteSpan) {}), LogicError);
}

TEST_F(MappedTensorsTest, EditedTensor_IsSeenByEveryLaterReader) {
  const auto mapped = open();
  const auto before = bytes_of(mapped->view(kQkv));
  const auto span = mapped->edit(kQkv);
  ASSERT_TRUE(span.ok());
  EXPECT_TRUE(std::equal(before.begin(), before.end(), span->begin()));
  (*span)[0] ^= std::byte{0xFF};
  auto wanted = before;
  wanted[0] ^= std::byte{0xFF};
  EXPECT_EQ(gathered(*mapped, kQkv), wanted);
  EXPECT_EQ(bytes_of(mapped->view(kQkv)), wanted);
  EXPECT_EQ(mapped->held_bytes(), before.size());
  EXPECT_EQ(mapped->edit(kQkv)->data(), span->data());
}

TEST_F(MappedTensorsTest, EditedTensor_LeavesTheFileAlone) {
  const auto digest = sha256_hex(open()->view(kNorm).bytes);
  const auto mapped = open();
  (*mapped->edit(kNorm))[0] ^= std::byte{0xFF};
  EXPECT_EQ(sha256_hex(open()->view(kNorm).bytes), digest);
}

TEST_F(MappedTensorsTest, CastTensor_IsPrivateInItsNewType) {
  const auto mapped = open();
  ASSERT_TRUE(mapped->recast(kNorm, DType::kBF16).ok());
  EXPECT_EQ(mapped->view(kNorm).dtype, DType::kBF16);
  EXPECT_EQ(mapped->held_bytes(), 2U * test::kHidden);
  EXPECT_EQ(gathered(*mapped, kNorm).size(), 2U * test::kHidden);
  EXPECT_EQ(mapped->recast(kNorm, DType::kI8).refusal().code, codes::kDtypeMismatch);
}

TEST_F(MappedTensorsTest, FileThatChangedSinceThePlan_IsRefused) {
  const auto contract = plan();
  auto stored = test::stored_as_it_runs(dit_);
  const auto open_refusal = [&] {
    test::write_sharded(files_, "/m/transformer", stored);
    return MappedTensors::open(files_, contract, *device_).refusal().code;
  };
  const auto rewrite = [&](test::StoredTensor tensor) {
    for (const char* shard : {"1", "2"}) {
      ASSERT_TRUE(files_
                      .remove_file(platform::Path("/m/transformer/model-0000" + std::string(shard) +
                                                  "-of-00002.safetensors"))
                      .ok());
    }
    stored.back() = std::move(tensor);
  };
  rewrite(test::drawn_tensor("proj.weight", DType::kBF16, {test::kHidden, 4}));
  EXPECT_EQ(open_refusal(), codes::kShapeMismatch);
  rewrite(test::drawn_tensor("proj.weight", DType::kF32, {4, test::kHidden}));
  EXPECT_EQ(open_refusal(), codes::kDtypeMismatch);
  rewrite(test::drawn_tensor("other", DType::kF32, {1}));
  EXPECT_EQ(open_refusal(), codes::kMissingTensor);
}

// Bug case FM-10: a file cut after the plan was made never becomes zeros.
TEST_F(MappedTensorsTest, FileCutSinceThePlan_IsRefusedWhenMapped) {
  const auto contract = plan();
  const platform::Path shard = "/m/transformer/model-00002-of-00002.safetensors";
  files_.truncate(shard, files_.contents(shard)->size() - 1);
  EXPECT_EQ(MappedTensors::open(files_, contract, *device_).refusal().code,
            codes::kSafetensorsInvalid);
}

TEST_F(MappedTensorsTest, MissingFile_IsRefusedWhenMapped) {
  const auto contract = plan();
  ASSERT_TRUE(files_.remove_file("/m/transformer/model-00002-of-00002.safetensors").ok());
  EXPECT_EQ(MappedTensors::open(files_, contract, *device_).refusal().code, codes::kFileNotFound);
}

TEST_F(MappedTensorsTest, ReleasesBesideOtherThreads_LeaveTheirQuestionIntact) {
  const auto mapped = open();
  const auto tensors = test::tensors_of(dit_);
  platform::ThreadExecutor executor(3);
  executor.parallel_for(3, [&](std::size_t worker) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (worker == 0) {
        mapped->release(tensors[i]->name);
      } else {
        EXPECT_TRUE(mapped->intact());
      }
    }
  });
  EXPECT_TRUE(mapped->mapped_files().empty());
}

// Bug case FM-9: a file cut under its mapping is one named error.
TEST_F(MappedTensorsTest, FileCutUnderItsMapping_IsNoticedAndStaysNoticed) {
  const auto mapped = open();
  const std::string shard = "/m/transformer/model-00001-of-00002.safetensors";
  EXPECT_TRUE(mapped->intact());
  EXPECT_TRUE(mapped->truncated_file().empty());
  files_.truncate(shard, 16);
  EXPECT_FALSE(mapped->intact());
  const auto refused = mapped->edit(kNorm);
  EXPECT_EQ(refused.refusal().code, codes::kMappingTruncated);
  EXPECT_EQ(refused.refusal().where, shard);
  EXPECT_NE(refused.refusal().what.find(kNorm), std::string::npos);
  EXPECT_EQ(mapped->held_bytes(), 0U);
  for (const auto* tensor : test::tensors_of(dit_)) {
    mapped->release(tensor->name);
  }
  EXPECT_TRUE(mapped->mapped_files().empty());
  EXPECT_FALSE(mapped->intact());
  EXPECT_EQ(mapped->truncated_file(), shard);
}

}  // namespace
}  // namespace dlo::host_weights
