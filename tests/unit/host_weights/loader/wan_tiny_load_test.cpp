// Goal: the checkpoint that diffusers wrote, three shards with an index, loads byte for byte.
// Method: SHA-256 of every loaded tensor against the bytes that lie in the files, found by a second
// reading of the headers' offsets; the conversion to bf16 against element-wise rounding.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/failure_signal.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/value_generator.h"
#include "host_weights/ordinary_loader.h"
#include "host_weights/seeded_checkpoint/wan_tensors.h"
#include "platform/cpu/cpu_device.h"
#include "platform/cpu/thread_executor.h"
#include "platform/posix/posix_file_system.h"
#include "platform/posix/steady_clock.h"

namespace dlo::host_weights {
namespace {

// Raw bytes by key, without any of the product's readers.
std::map<std::string, std::string> raw_tensors() {
  std::map<std::string, std::string> tensors;
  const std::filesystem::path folder = std::filesystem::path(DLO_WAN_TINY_DIR) / "transformer";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") {
      continue;
    }
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof(length));
    const auto header = nlohmann::json::parse(bytes.substr(8, length));
    for (const auto& [name, record] : header.items()) {
      if (name != "__metadata__") {
        const std::uint64_t begin = record["data_offsets"][0];
        const std::uint64_t end = record["data_offsets"][1];
        tensors[name] = bytes.substr(8 + length + begin, end - begin);
      }
    }
  }
  return tensors;
}

class WanTinyLoad : public testing::Test {
 protected:
  // Every tensor of the tiny model, under its runtime name.
  std::vector<contracts::TensorSpec> specs(DType dtype) {
    std::vector<contracts::TensorSpec> all;
    for (const auto& tensor : wan_tensors(wan_preset("wan_tiny")->shape)) {
      all.push_back({"transformer." + tensor.name,
                     contracts::TensorKind::kParameter,
                     dtype,
                     tensor.shape,
                     {}});
    }
    return all;
  }
  Result<LoadedTensors> load(const std::vector<contracts::TensorSpec>& model) {
    LoadRequest request;
    request.sources = {{DLO_WAN_TINY_DIR, "transformer", "transformer.", {}}};
    for (const auto& spec : model) {
      request.tensors.push_back(&spec);
    }
    return load_ordinary(files_, *device_, executor_, request);
  }

  platform::PosixFileSystem files_;
  platform::ThreadExecutor executor_{4};
  platform::SteadyClock clock_;
  std::unique_ptr<FailureSignal> signal_ = make_local_failure_signal();
  std::unique_ptr<platform::Device> device_ = platform::make_cpu_device({}, clock_, *signal_);
};

TEST_F(WanTinyLoad, Fp32Runtime_HoldsTheFilesBytes) {
  const auto model = specs(DType::kF32);
  const auto loaded = load(model);
  ASSERT_TRUE(loaded.ok()) << loaded.refusal().message();
  const auto raw = raw_tensors();
  ASSERT_EQ(raw.size(), model.size());
  for (const auto& [key, bytes] : raw) {
    EXPECT_EQ(sha256_hex(loaded->tensors->view("transformer." + key).bytes), sha256_hex(bytes))
        << key;
  }
  EXPECT_EQ(loaded->report.tensor_count, 96U);
  EXPECT_EQ(loaded->report.private_bytes, 140032U);
  EXPECT_EQ(loaded->report.converted_count, 0U);
  EXPECT_TRUE(loaded->report.unused.empty());
}

TEST_F(WanTinyLoad, Bf16Runtime_HoldsTheRoundedValues) {
  const auto model = specs(DType::kBF16);
  const auto loaded = load(model);
  ASSERT_TRUE(loaded.ok()) << loaded.refusal().message();
  EXPECT_EQ(loaded->report.converted_count, model.size());
  EXPECT_EQ(loaded->report.private_bytes, 140032U / 2);
  for (const auto& [key, bytes] : raw_tensors()) {
    const auto view = loaded->tensors->view("transformer." + key);
    for (std::size_t i = 0; i < bytes.size() / sizeof(float); ++i) {
      float value = 0;
      std::uint16_t rounded = 0;
      std::memcpy(&value, bytes.data() + i * sizeof(float), sizeof(float));
      std::memcpy(&rounded, view.bytes.data() + i * sizeof(rounded), sizeof(rounded));
      ASSERT_EQ(rounded, float_to_bf16(value)) << key << " element " << i;
    }
  }
}

}  // namespace
}  // namespace dlo::host_weights
