// Owns: what tests of preflight, mapped tensors and the loader share: a small model of two blocks
// with its checkpoint in memory, an index writer, and a file system that counts calls.
// Must not own: expectations. Header-only; failures end the test through Result::value().
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/codes.h"
#include "contracts/parameter_table.h"
#include "contracts/row_recipes.h"
#include "host_weights/preflight.h"
#include "platform/fault/faulting_file_system.h"
#include "tests/support/checkpoint_builder.h"
#include "tests/support/memory_file_system.h"

namespace dlo::host_weights::test {

using contracts::DitSpec;
using contracts::TensorKind;
using contracts::TensorSpec;
using test_support::drawn_tensor;
using test_support::MemoryFileSystem;
using test_support::StoredTensor;

inline TensorSpec spec(std::string name, Shape shape, DType dtype = DType::kBF16,
                       TensorKind kind = TensorKind::kParameter) {
  return {std::move(name), kind, dtype, std::move(shape), {}};
}

inline constexpr std::int64_t kHeads = 2;
inline constexpr std::int64_t kHeadRows = 2;
inline constexpr std::int64_t kHidden = 3;
inline constexpr std::int64_t kQkvRows = 3 * kHeads * kHeadRows;

// Two tensors of grouped_dit().
inline constexpr const char* kQkv = "transformer.blocks.0.attn.qkv_proj.weight";
inline constexpr const char* kNorm = "transformer.blocks.0.norm1.weight";

// Two blocks with a q, k, v tensor stored head by head, a persistent buffer and an edge.
inline DitSpec grouped_dit(const std::string& name = "transformer") {
  DitSpec dit;
  dit.name = name;
  dit.loading.model_class = "MiniMaxH3DiTModel";
  for (const char* block : {"blocks.0", "blocks.1"}) {
    const std::string key = std::string(block) + ".attn.qkv_proj.weight";
    const std::string prefix = name + "." + block;
    dit.blocks.push_back(
        {prefix,
         {spec(name + "." + key, {kQkvRows, kHidden}),
          spec(prefix + ".norm1.weight", {kHidden}, DType::kF32),
          spec(prefix + ".scale", {kHidden}, DType::kF32, TensorKind::kPersistentBuffer)},
         nullptr});
    dit.loading.recipes[name + "." + key] =
        contracts::grouped_qkv(key, kHeads, kHeadRows, {kHidden});
    dit.loading.custom_loaders.insert(prefix + ".norm1.weight");
  }
  dit.non_block = {name + " (non-block)", {spec(name + ".proj.weight", {4, kHidden})}, nullptr};
  return dit;
}

// The same model without loaders of its own.
inline DitSpec plain_dit(const std::string& name = "transformer") {
  DitSpec dit = grouped_dit(name);
  dit.loading = {"PlainModel", {}, {}};
  return dit;
}

inline std::vector<const TensorSpec*> tensors_of(const DitSpec& dit) {
  std::vector<const TensorSpec*> all;
  for (const auto& block : dit.blocks) {
    for (const auto& tensor : block.tensors) {
      all.push_back(&tensor);
    }
  }
  for (const auto& tensor : dit.non_block.tensors) {
    all.push_back(&tensor);
  }
  return all;
}

// A checkpoint that holds every tensor of `dit` as it runs, by checkpoint key.
inline std::vector<StoredTensor> stored_as_it_runs(const DitSpec& dit) {
  std::vector<StoredTensor> stored;
  for (const auto* tensor : tensors_of(dit)) {
    stored.push_back(
        drawn_tensor(tensor->name.substr(dit.name.size() + 1), tensor->dtype, tensor->shape));
  }
  return stored;
}

inline void write_index(MemoryFileSystem& files, const platform::Path& path,
                        const std::vector<std::pair<std::string, std::string>>& shard_of) {
  std::string text = R"({"metadata":{"total_size":0},"weight_map":{)";
  for (const auto& [key, shard] : shard_of) {
    text += (text.back() == '{' ? "\"" : ",\"") + key + "\":\"" + shard + "\"";
  }
  files.put(path, text + "}}");
}

inline constexpr const char* kIndexName = "model.safetensors.index.json";

// Writes `stored` in two shards with their index.
inline void write_sharded(MemoryFileSystem& files, const platform::Path& folder,
                          const std::vector<StoredTensor>& stored) {
  const std::array<std::string, 2> names = {"model-00001-of-00002.safetensors",
                                            "model-00002-of-00002.safetensors"};
  std::array<std::vector<StoredTensor>, 2> parts;
  std::vector<std::pair<std::string, std::string>> shard_of;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    parts[i % 2].push_back(stored[i]);
    shard_of.emplace_back(stored[i].name, names[i % 2]);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    test_support::write_safetensors(files, folder / names[i], parts[i]);
  }
  write_index(files, folder / kIndexName, shard_of);
}

inline PreflightRequest request_for(const DitSpec& dit, const platform::Path& root = "/m") {
  PreflightRequest request;
  request.dits = {&dit};
  request.sources = {{root, dit.name, dit.name + ".", {}}};
  request.model_path = root;
  return request;
}

// Counts every call that reaches the files.
class CountedFiles {
 public:
  explicit CountedFiles(MemoryFileSystem& files)
      : injector_(plan_, 0), counted_(files, injector_, {}) {}

  [[nodiscard]] const platform::FileSystem& files() const { return counted_; }
  [[nodiscard]] std::uint64_t calls() const {
    std::uint64_t sum = 0;
    for (const auto& [site, count] : injector_.sites()) {
      sum += count;
    }
    return sum;
  }

 private:
  platform::FaultPlan plan_;
  platform::FaultInjector injector_;
  platform::FaultingFileSystem counted_;
};

}  // namespace dlo::host_weights::test
