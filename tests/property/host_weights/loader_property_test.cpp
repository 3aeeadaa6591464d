// Goal: however a model's tensors are spread over files, sliced by a recipe and loaded by however
// many threads, the loaded elements are those that the recipe says, and released memory is gone.
// Method: drawn models in memory; the expectation is made element by element from coordinates.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <map>
#include <string>

#include "base/failure_signal.h"
#include "host_weights/ordinary_loader.h"
#include "platform/cpu/cpu_device.h"
#include "platform/cpu/thread_executor.h"
#include "platform/posix/steady_clock.h"
#include "tests/support/checkpoint_builder.h"
#include "tests/support/memory_file_system.h"

namespace dlo::host_weights {
namespace {

using test_support::StoredTensor;

// A matrix in the checkpoint and the rectangle of it that the runtime tensor is.
struct DrawnTensor {
  StoredTensor stored;
  std::int64_t row = 0;
  std::int64_t column = 0;
  Shape shape;
  bool whole = false;
};

DrawnTensor draw_tensor(const std::string& key) {
  DrawnTensor drawn;
  const auto rows = *rc::gen::inRange<std::int64_t>(1, 9);
  const auto columns = *rc::gen::inRange<std::int64_t>(1, 9);
  drawn.stored = test_support::drawn_tensor(key, DType::kF32, {rows, columns});
  drawn.whole = *rc::gen::arbitrary<bool>();
  if (!drawn.whole) {
    drawn.row = *rc::gen::inRange<std::int64_t>(0, rows);
    drawn.column = *rc::gen::inRange<std::int64_t>(0, columns);
  }
  drawn.shape = drawn.whole ? drawn.stored.shape : Shape{rows - drawn.row, columns - drawn.column};
  return drawn;
}

void check_elements(const DrawnTensor& drawn, const TensorView& loaded) {
  const std::int64_t columns = drawn.stored.shape[1];
  for (std::int64_t r = 0; r < drawn.shape[0]; ++r) {
    for (std::int64_t c = 0; c < drawn.shape[1]; ++c) {
      const auto from = static_cast<std::size_t>((drawn.row + r) * columns + drawn.column + c);
      const auto at = static_cast<std::size_t>(r * drawn.shape[1] + c);
      RC_ASSERT(
          std::memcmp(drawn.stored.bytes.data() + from * 4, loaded.bytes.data() + at * 4, 4) == 0);
    }
  }
}

RC_GTEST_PROP(OrdinaryLoader, AnySpreadAndSlice_LoadsTheRecipesElements, ()) {
  std::map<std::string, DrawnTensor> model;
  std::map<std::int64_t, std::vector<StoredTensor>> shards;
  const auto count = *rc::gen::inRange(1, 12);
  for (int i = 0; i < count; ++i) {
    const std::string key = "k" + std::to_string(i);
    const auto& drawn = model["t." + key] = draw_tensor(key);
    shards[*rc::gen::inRange<std::int64_t>(0, 4)].push_back(drawn.stored);
  }
  test_support::MemoryFileSystem files;
  for (const auto& [number, tensors] : shards) {
    test_support::write_safetensors(files, "/m/s" + std::to_string(number) + ".safetensors",
                                    tensors);
  }
  LoadRequest request;
  request.sources = {{"/m", "", "t.", {}}};
  request.thread_count = *rc::gen::inRange<std::size_t>(1, 5);
  std::vector<contracts::TensorSpec> specs;
  for (const auto& [name, drawn] : model) {
    specs.push_back({name, contracts::TensorKind::kParameter, DType::kF32, drawn.shape, {}});
    if (!drawn.whole) {
      request.recipes[name] = {
          {{drawn.stored.name, {{drawn.row, drawn.column}, drawn.shape}, {{0, 0}, drawn.shape}}}};
    }
  }
  for (const auto& spec : specs) {
    request.tensors.push_back(&spec);
  }
  platform::ThreadExecutor executor(3);
  platform::SteadyClock clock;
  const auto signal = make_local_failure_signal();
  const auto device = platform::make_cpu_device({}, clock, *signal);
  auto loaded = load_ordinary(files, *device, executor, request);
  RC_ASSERT(loaded.ok());
  for (const auto& [name, drawn] : model) {
    check_elements(drawn, loaded->tensors->view(name));
    const auto before = device->pageable_memory().now_bytes;
    loaded->tensors->release(name);
    RC_ASSERT(before - device->pageable_memory().now_bytes ==
              *tensor_bytes(drawn.shape, DType::kF32));
  }
  RC_ASSERT(device->pageable_memory().now_bytes == 0U);
}

}  // namespace
}  // namespace dlo::host_weights
