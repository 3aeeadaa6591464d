// Goal: the ordinary loader fills every expected tensor with the right bytes, or refuses with the
// right code before it holds any memory; checks come in the stated order. Method: small checkpoints
// in memory, one mistake each; the CPU device's books witness memory.
#include "host_weights/ordinary_loader.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/codes.h"
#include "base/failure_signal.h"
#include "base/sha256.h"
#include "platform/cpu/cpu_device.h"
#include "platform/cpu/thread_executor.h"
#include "platform/forwarding_device.h"
#include "platform/posix/posix_file_system.h"
#include "platform/posix/steady_clock.h"
#include "tests/support/checkpoint_builder.h"
#include "tests/support/memory_file_system.h"

namespace dlo::host_weights {
namespace {

using contracts::Box;
using contracts::TensorKind;
using contracts::TensorSpec;
using test_support::drawn_tensor;
using test_support::f32_tensor;
using test_support::StoredTensor;

TensorSpec spec(const std::string& name, Shape shape, DType dtype = DType::kF32) {
  return {name, TensorKind::kParameter, dtype, std::move(shape), {}};
}

std::vector<float> floats(const TensorView& view) {
  std::vector<float> values(view.bytes.size() / sizeof(float));
  std::memcpy(values.data(), view.bytes.data(), view.bytes.size());
  return values;
}

// Refuses host memory beyond a limit.
class SmallHostDevice : public platform::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  [[nodiscard]] Result<std::unique_ptr<platform::HostBuffer>> allocate_pageable(
      std::uint64_t bytes, platform::MemoryPurpose purpose) override {
    if (pageable_memory().now_bytes + bytes > kLimitBytes) {
      return refuse(codes::kHostOutOfMemory, "the limit is reached", "test", "none");
    }
    return ForwardingDevice::allocate_pageable(bytes, purpose);
  }

 private:
  static constexpr std::uint64_t kLimitBytes = 40;
};

class OrdinaryLoaderTest : public testing::Test {
 protected:
  void store(const std::vector<StoredTensor>& tensors, const std::string& name = "m.safetensors") {
    test_support::write_safetensors(files_, "/m/transformer/" + name, tensors);
  }
  Result<LoadedTensors> load(const std::vector<TensorSpec>& model) {
    request_.tensors.clear();
    for (const auto& tensor : model) {
      request_.tensors.push_back(&tensor);
    }
    if (request_.sources.empty()) {
      request_.sources = {{"/m", "transformer", "transformer.", {}}};
    }
    return load_ordinary(files_, *device_, executor_, request_);
  }
  // The refusal of a load that must not leave memory behind.
  Refusal refusal(const std::vector<TensorSpec>& model) {
    const auto loaded = load(model);
    EXPECT_FALSE(loaded.ok());
    EXPECT_EQ(device_->pageable_memory().now_bytes, 0U);
    return loaded ? Refusal{} : loaded.refusal();
  }

  test_support::MemoryFileSystem files_;
  platform::ThreadExecutor executor_{3};
  platform::SteadyClock clock_;
  std::unique_ptr<FailureSignal> signal_ = make_local_failure_signal();
  std::unique_ptr<platform::Device> device_ = platform::make_cpu_device({}, clock_, *signal_);
  LoadRequest request_;
};

TEST_F(OrdinaryLoaderTest, TensorsOfEqualDtype_AreCopied) {
  const auto a = drawn_tensor("a", DType::kF32, {3, 4});
  const auto b = drawn_tensor("b", DType::kBF16, {5});
  store({a, b});
  const auto loaded =
      load({spec("transformer.a", {3, 4}), spec("transformer.b", {5}, DType::kBF16)});
  ASSERT_TRUE(loaded.ok()) << loaded.refusal().message();
  EXPECT_EQ(sha256_hex(loaded->tensors->view("transformer.a").bytes), sha256_hex(a.bytes));
  EXPECT_EQ(sha256_hex(loaded->tensors->view("transformer.b").bytes), sha256_hex(b.bytes));
  EXPECT_EQ(loaded->report.private_bytes, 58U);
  EXPECT_EQ(loaded->report.file_bytes, 58U);
  EXPECT_EQ(device_->pageable_memory().now_bytes, 58U);
}

TEST_F(OrdinaryLoaderTest, LoadedTensors_OutliveTheFilesContent) {
  store({f32_tensor("a", {2}, {1.0F, 2.0F})});
  const auto loaded = load({spec("transformer.a", {2})});
  ASSERT_TRUE(loaded.ok());
  files_.truncate("/m/transformer/m.safetensors", 0);
  EXPECT_EQ(floats(loaded->tensors->view("transformer.a")), (std::vector<float>{1.0F, 2.0F}));
}

TEST_F(OrdinaryLoaderTest, StoredInAnotherFloatingType_IsRounded) {
  store({f32_tensor("a", {2}, {1.00390625F, 3.0F}), drawn_tensor("h", DType::kF16, {4})});
  const auto loaded =
      load({spec("transformer.a", {2}, DType::kBF16), spec("transformer.h", {4}, DType::kF32)});
  ASSERT_TRUE(loaded.ok()) << loaded.refusal().message();
  std::uint16_t first = 0;
  std::memcpy(&first, loaded->tensors->view("transformer.a").bytes.data(), sizeof(first));
  EXPECT_EQ(first, 0x3F80U);  // 1 + 2^-8 is a tie between 1 and 1 + 2^-7
  EXPECT_EQ(loaded->report.converted_count, 2U);
}

TEST_F(OrdinaryLoaderTest, SecondSource_ServesNamesUnderItsPrefix) {
  store({f32_tensor("a", {1}, {1.0F})});
  test_support::write_safetensors(files_, "/m/transformer_2/m.safetensors",
                                  {f32_tensor("a", {1}, {2.0F})});
  request_.sources = {{"/m", "transformer", "transformer.", {}},
                      {"/m", "transformer_2", "transformer_2.", {}}};
  const auto loaded = load({spec("transformer.a", {1}), spec("transformer_2.a", {1})});
  ASSERT_TRUE(loaded.ok()) << loaded.refusal().message();
  EXPECT_EQ(floats(loaded->tensors->view("transformer.a")), std::vector<float>{1.0F});
  EXPECT_EQ(floats(loaded->tensors->view("transformer_2.a")), std::vector<float>{2.0F});
}

TEST_F(OrdinaryLoaderTest, NameOutsideEveryPrefix_IsNotLoaded) {
  store({f32_tensor("a", {1}, {1.0F})});
  const auto loaded = load({spec("transformer.a", {1}), spec("vae.a", {1})});
  ASSERT_TRUE(loaded.ok()) << loaded.refusal().message();
  EXPECT_FALSE(loaded->tensors->holds("vae.a"));
}

TEST_F(OrdinaryLoaderTest, PlannedNames_AreLeftAlone) {
  store({f32_tensor("a", {1}, {1.0F}), f32_tensor("b", {1}, {2.0F})});
  request_.planned = {"transformer.b"};
  const auto loaded = load({spec("transformer.a", {1}), spec("transformer.b", {1})});
  ASSERT_TRUE(loaded.ok()) << loaded.refusal().message();
  EXPECT_FALSE(loaded->tensors->holds("transformer.b"));
  EXPECT_TRUE(loaded->report.unused.empty());
}

TEST_F(OrdinaryLoaderTest, TensorThatNothingWants_IsReportedAsUnused) {
  store({f32_tensor("a", {1}, {1.0F}), f32_tensor("extra", {1}, {2.0F})});
  const auto loaded = load({spec("transformer.a", {1})});
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->report.unused, std::vector<std::string>{"transformer.extra"});
}

TEST_F(OrdinaryLoaderTest, FusedRecipe_JoinsThreeTensorsOfTwoFiles) {
  store({f32_tensor("q", {1, 2}, {1, 2}), f32_tensor("k", {1, 2}, {3, 4})}, "m-1.safetensors");
  store({f32_tensor("v", {1, 2}, {5, 6})}, "m-2.safetensors");
  const Box row{{0, 0}, {1, 2}};
  request_.recipes["transformer.qkv"] = {
      {{"q", row, {{0, 0}, {1, 2}}}, {"k", row, {{1, 0}, {1, 2}}}, {"v", row, {{2, 0}, {1, 2}}}}};
  const auto loaded = load({spec("transformer.qkv", {3, 2})});
  ASSERT_TRUE(loaded.ok()) << loaded.refusal().message();
  EXPECT_EQ(floats(loaded->tensors->view("transformer.qkv")),
            (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_F(OrdinaryLoaderTest, SlicedRecipe_ConvertsTheSliceOnly) {
  store({f32_tensor("w", {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7})});
  request_.recipes["transformer.w"] = {{{"w", {{0, 2}, {2, 2}}, {{0, 0}, {2, 2}}}}};
  const auto loaded = load({spec("transformer.w", {2, 2}, DType::kBF16)});
  ASSERT_TRUE(loaded.ok()) << loaded.refusal().message();
  std::vector<std::uint16_t> values(4);
  std::memcpy(values.data(), loaded->tensors->view("transformer.w").bytes.data(), 8);
  EXPECT_EQ(values, (std::vector<std::uint16_t>{0x4000, 0x4040, 0x40C0, 0x40E0}));
  EXPECT_EQ(loaded->report.file_bytes, 16U);
}

// PL-4 (vllm-omni #1728): a weight stored only under its shared name must not leave zeros behind.
TEST_F(OrdinaryLoaderTest, WeightUnderItsSharedNameOnly_IsRefusedByTheNameThatIsMissing) {
  store({f32_tensor("shared.weight", {2}, {1, 2}), f32_tensor("norm.weight", {2}, {1, 1})});
  const auto refused =
      refusal({spec("transformer.embed.weight", {2}), spec("transformer.norm.weight", {2})});
  EXPECT_EQ(refused.code, codes::kMissingTensor);
  EXPECT_EQ(refused.what,
            "1 of the model's tensors are in none of its sources: "
            "'transformer.embed.weight'");
}

// PL-6 (vllm-omni #4452): a tensor that runs in F32 keeps F32 beside bf16 neighbours.
TEST_F(OrdinaryLoaderTest, BlockOfMixedDtypes_KeepsEachTensorsOwn) {
  store({drawn_tensor("a", DType::kBF16, {4}), drawn_tensor("b", DType::kBF16, {4})});
  const auto loaded =
      load({spec("transformer.a", {4}, DType::kF32), spec("transformer.b", {4}, DType::kBF16)});
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->tensors->view("transformer.a").dtype, DType::kF32);
  EXPECT_EQ(loaded->tensors->view("transformer.b").dtype, DType::kBF16);
}

TEST_F(OrdinaryLoaderTest, AnotherShape_IsRefusedEvenWhenItWouldFit) {
  store({f32_tensor("a", {3}, {1, 2, 3})});
  const auto refused = refusal({spec("transformer.a", {2})});
  EXPECT_EQ(refused.code, codes::kShapeMismatch);
  EXPECT_NE(refused.what.find("[3]"), std::string::npos);
  EXPECT_NE(refused.what.find("[2]"), std::string::npos);
}

TEST_F(OrdinaryLoaderTest, RecipeThatLeavesItsSource_IsRefused) {
  store({f32_tensor("w", {2, 2}, {1, 2, 3, 4})});
  request_.recipes["transformer.w"] = {{{"w", {{1, 0}, {2, 2}}, {{0, 0}, {2, 2}}}}};
  EXPECT_EQ(refusal({spec("transformer.w", {2, 2})}).code, codes::kShapeMismatch);
}

TEST_F(OrdinaryLoaderTest, RecipeThatLeavesAGap_IsRefusedByRuntimeName) {
  store({f32_tensor("w", {1, 2}, {1, 2})});
  request_.recipes["transformer.w"] = {{{"w", {{0, 0}, {1, 2}}, {{0, 0}, {1, 2}}}}};
  const auto refused = refusal({spec("transformer.w", {2, 2})});
  EXPECT_EQ(refused.code, codes::kShapeMismatch);
  EXPECT_NE(refused.where.find("transformer.w"), std::string::npos);
}

TEST_F(OrdinaryLoaderTest, IntegersForAFloatingTensor_AreRefused) {
  store({drawn_tensor("a", DType::kI32, {2})});
  EXPECT_EQ(refusal({spec("transformer.a", {2})}).code, codes::kDtypeMismatch);
}

TEST_F(OrdinaryLoaderTest, SeveralMistakes_AreReportedInTheStatedOrder) {
  store({f32_tensor("shape", {3}, {1, 2, 3}), drawn_tensor("dtype", DType::kI32, {2})});
  std::vector<TensorSpec> model = {spec("transformer.dtype", {2}), spec("transformer.shape", {2}),
                                   spec("transformer.missing", {2})};
  EXPECT_EQ(refusal(model).code, codes::kMissingTensor);
  model.pop_back();
  EXPECT_EQ(refusal(model).code, codes::kShapeMismatch);
  model.pop_back();
  EXPECT_EQ(refusal(model).code, codes::kDtypeMismatch);
  files_.put("/m/transformer/m.safetensors", "no header");
  EXPECT_EQ(refusal(model).code, codes::kSafetensorsInvalid);
}

TEST_F(OrdinaryLoaderTest, HostMemoryThatRunsOut_IsRefusedWithTheTensorAndGivenBack) {
  store({drawn_tensor("a", DType::kF32, {8}), drawn_tensor("b", DType::kF32, {8})});
  device_ = std::make_unique<SmallHostDevice>(std::move(device_));
  const auto refused = refusal({spec("transformer.a", {8}), spec("transformer.b", {8})});
  EXPECT_EQ(refused.code, codes::kHostOutOfMemory);
  EXPECT_NE(refused.where.find("transformer.b"), std::string::npos);
}

// Cuts the file at the moment when memory for the first tensor is asked for: after every check of
// the header, before the first byte is copied.
class TruncatingDevice : public platform::ForwardingDevice {
 public:
  TruncatingDevice(std::unique_ptr<Device> inner, test_support::MemoryFileSystem& files)
      : ForwardingDevice(std::move(inner)), files_(files) {}
  [[nodiscard]] Result<std::unique_ptr<platform::HostBuffer>> allocate_pageable(
      std::uint64_t bytes, platform::MemoryPurpose purpose) override {
    files_.truncate("/m/transformer/m.safetensors", 80);
    return ForwardingDevice::allocate_pageable(bytes, purpose);
  }

 private:
  test_support::MemoryFileSystem& files_;
};

TEST_F(OrdinaryLoaderTest, FileThatShrinksWhileItIsRead_IsRefusedAndNothingIsKept) {
  store({drawn_tensor("a", DType::kF32, {64})});
  device_ = std::make_unique<TruncatingDevice>(std::move(device_), files_);
  EXPECT_EQ(refusal({spec("transformer.a", {64})}).code, codes::kMappingTruncated);
}

// The same on the real file system, where the kernel answers the read with SIGBUS.
class DiskTruncatingDevice : public platform::ForwardingDevice {
 public:
  DiskTruncatingDevice(std::unique_ptr<Device> inner, std::filesystem::path path)
      : ForwardingDevice(std::move(inner)), path_(std::move(path)) {}
  [[nodiscard]] Result<std::unique_ptr<platform::HostBuffer>> allocate_pageable(
      std::uint64_t bytes, platform::MemoryPurpose purpose) override {
    std::filesystem::resize_file(path_, 4096);
    return ForwardingDevice::allocate_pageable(bytes, purpose);
  }

 private:
  std::filesystem::path path_;
};

TEST_F(OrdinaryLoaderTest, FileOnDiskThatShrinksWhileItIsRead_IsRefused) {
  std::string name = (std::filesystem::temp_directory_path() / "dlo_loader_XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(name.data());
  const auto path = folder / "m.safetensors";
  platform::PosixFileSystem disk;
  test_support::write_safetensors(disk, path, {drawn_tensor("a", DType::kF32, {64, 1024})});
  device_ = std::make_unique<DiskTruncatingDevice>(std::move(device_), path);
  const TensorSpec wanted = spec("transformer.a", {64, 1024});
  request_.sources = {{folder, "", "transformer.", {}}};
  request_.tensors = {&wanted};
  const auto loaded = load_ordinary(disk, *device_, executor_, request_);
  std::filesystem::remove_all(folder);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.refusal().code, codes::kMappingTruncated);
  EXPECT_EQ(loaded.refusal().where, path.string());
}

TEST_F(OrdinaryLoaderTest, AnyThreadCount_LoadsTheSameBytes) {
  std::vector<TensorSpec> model;
  for (int shard = 1; shard <= 5; ++shard) {
    std::vector<StoredTensor> tensors;
    for (int i = 0; i < 7; ++i) {
      const std::string name = "s" + std::to_string(shard) + "." + std::to_string(i);
      tensors.push_back(drawn_tensor(name, DType::kF32, {shard, i + 1}));
      model.push_back(spec("transformer." + name, {shard, i + 1}));
    }
    store(tensors, "m-" + std::to_string(shard) + ".safetensors");
  }
  std::set<std::string> digests;
  for (const std::size_t threads : {1U, 2U, 3U, 64U, 0U}) {
    request_.thread_count = threads;
    const auto loaded = load(model);
    ASSERT_TRUE(loaded.ok()) << loaded.refusal().message();
    Sha256 digest;
    for (const auto& tensor : model) {
      digest.update(loaded->tensors->view(tensor.name).bytes);
    }
    digests.insert(digest.hex_digest());
  }
  EXPECT_EQ(digests.size(), 1U);
}

TEST_F(OrdinaryLoaderTest, NothingExpected_LoadsNothing) {
  store({f32_tensor("a", {1}, {1.0F})});
  const auto loaded = load({});
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->report.private_bytes, 0U);
}

}  // namespace
}  // namespace dlo::host_weights
