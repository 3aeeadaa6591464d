// Goal: whatever model, spread over whatever shards, a mapping shows the bytes that the ordinary
// loader loads, its runs follow each other, and what is edited is what is read.
// Method: drawn grouped q, k, v geometries and plain tensors in memory; both ways on one
// checkpoint.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/failure_signal.h"
#include "contracts/row_recipes.h"
#include "host_weights/mapped_tensors.h"
#include "host_weights/ordinary_loader.h"
#include "host_weights/preflight.h"
#include "platform/cpu/cpu_device.h"
#include "platform/cpu/thread_executor.h"
#include "platform/posix/steady_clock.h"
#include "tests/support/checkpoint_builder.h"
#include "tests/support/memory_file_system.h"

namespace dlo::host_weights {
namespace {

using contracts::DitSpec;
using Bytes = std::vector<std::byte>;

DitSpec drawn_dit() {
  DitSpec dit;
  dit.name = "transformer";
  dit.loading.model_class = "MiniMaxH3DiTModel";
  const auto count = *rc::gen::inRange(1, 5);
  for (int i = 0; i < count; ++i) {
    const std::string key = "blocks." + std::to_string(i) + ".attn.qkv_proj.weight";
    const std::int64_t heads = *rc::gen::inRange<std::int64_t>(1, 5);
    const std::int64_t rows = *rc::gen::inRange<std::int64_t>(1, 4);
    const std::int64_t columns = *rc::gen::inRange<std::int64_t>(0, 5);
    const DType dtype = *rc::gen::element(DType::kF32, DType::kBF16, DType::kF8E4M3);
    const std::string name = "transformer." + key;
    dit.non_block.tensors.push_back(
        {name, contracts::TensorKind::kParameter, dtype, {3 * heads * rows, columns}, {}});
    dit.loading.recipes[name] = contracts::grouped_qkv(key, heads, rows, {columns});
    dit.non_block.tensors.push_back(
        {name + ".scale", contracts::TensorKind::kPersistentBuffer, DType::kF32, {rows}, {}});
  }
  return dit;
}

void store(test_support::MemoryFileSystem& files, const DitSpec& dit) {
  const auto shards = *rc::gen::inRange<std::size_t>(1, 4);
  std::vector<std::vector<test_support::StoredTensor>> parts(shards);
  for (const auto& tensor : dit.non_block.tensors) {
    parts[*rc::gen::inRange<std::size_t>(0, shards)].push_back(test_support::drawn_tensor(
        tensor.name.substr(dit.name.size() + 1), tensor.dtype, tensor.shape));
  }
  for (std::size_t i = 0; i < shards; ++i) {
    test_support::write_safetensors(files, "/m/transformer/" + std::to_string(i) + ".safetensors",
                                    parts[i]);
  }
}

Bytes gathered(const contracts::HostTensors& tensors, const std::string& name) {
  Bytes bytes;
  tensors.for_each_run(name, [&](std::uint64_t offset, ConstByteSpan run) {
    RC_ASSERT(offset == bytes.size());
    bytes.insert(bytes.end(), run.begin(), run.end());
  });
  return bytes;
}

RC_GTEST_PROP(MappedTensorsProperty, AnyModelInAnyShards_ShowsWhatTheOrdinaryLoaderLoads, ()) {
  const DitSpec dit = drawn_dit();
  test_support::MemoryFileSystem files;
  store(files, dit);
  platform::SteadyClock clock;
  const auto signal = make_local_failure_signal();
  const auto device = platform::make_cpu_device({}, clock, *signal);
  platform::ThreadExecutor executor(2);
  PreflightRequest preflight;
  preflight.dits = {&dit};
  preflight.sources = {{"/m", "transformer", "transformer.", {}}};
  auto opened = MappedTensors::open(files, preflight_checkpoint(files, preflight).value(), *device);
  const auto mapped = std::move(opened).value();
  LoadRequest load;
  load.sources = preflight.sources;
  load.recipes = dit.loading.recipes;
  for (const auto& tensor : dit.non_block.tensors) {
    load.tensors.push_back(&tensor);
  }
  const auto loaded = load_ordinary(files, *device, executor, load);
  for (const auto& tensor : dit.non_block.tensors) {
    const auto wanted = loaded->tensors->view(tensor.name).bytes;
    RC_ASSERT(gathered(*mapped, tensor.name) == Bytes(wanted.begin(), wanted.end()));
    if (wanted.empty() || !*rc::gen::arbitrary<bool>()) {
      continue;
    }
    auto edited = gathered(*mapped, tensor.name);
    const auto at = *rc::gen::inRange<std::size_t>(0, edited.size());
    edited[at] ^= std::byte{0x5A};
    (*mapped->edit(tensor.name))[at] ^= std::byte{0x5A};
    RC_ASSERT(gathered(*mapped, tensor.name) == edited);
  }
}

}  // namespace
}  // namespace dlo::host_weights
