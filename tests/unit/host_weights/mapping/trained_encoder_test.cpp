// Goal: beside a planned transformer a real trained encoder is loaded ordinarily, whole and with
// its own bytes. Method: the foreign checkpoint of tests/golden (skipped, with the reason, where it
// is absent) next to a small transformer on the real file system.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/failure_signal.h"
#include "base/sha256.h"
#include "host_weights/plan_consumer.h"
#include "platform/cpu/cpu_device.h"
#include "platform/cpu/thread_executor.h"
#include "platform/posix/posix_file_system.h"
#include "platform/posix/steady_clock.h"
#include "tests/unit/host_weights/mapping/mapping_fixtures.h"

namespace dlo::host_weights {
namespace {

// Every tensor of the encoder as the file says.
std::vector<contracts::TensorSpec> specs_of(const SourceTensors& encoder) {
  std::vector<contracts::TensorSpec> specs;
  for (const auto& [key, tensor] : encoder.tensors()) {
    specs.push_back(test::spec("text_encoder." + key, tensor.record->shape, tensor.record->dtype));
  }
  return specs;
}

TEST(TrainedEncoder, BesideAPlannedTransformer_IsLoadedWithItsOwnBytes) {
  const char* const named = std::getenv("DLO_FOREIGN_CHECKPOINT");
  const ComponentSource source{
      named != nullptr ? named : DLO_FOREIGN_DEFAULT, "", "text_encoder.", {}};
  platform::PosixFileSystem files;
  if (!files.stat(source.path).ok()) {
    GTEST_SKIP() << source.path << " is absent: run scripts/fetch_foreign";
  }
  const auto root = platform::Path(testing::TempDir()) / "trained_encoder";
  ASSERT_TRUE(files.remove_tree(root).ok());
  const auto dit = test::grouped_dit();
  test_support::write_safetensors(files, root / "transformer" / "model.safetensors",
                                  test::stored_as_it_runs(dit));
  const auto encoder = SourceTensors::open(files, source).value();
  const auto specs = specs_of(encoder);
  WeightLoadRequest request;
  request.dits = {&dit};
  request.sources = {{root, "transformer", "transformer.", {}}, source};
  for (const auto& spec : specs) {
    request.others.push_back(&spec);
  }
  platform::ThreadExecutor executor(2);
  platform::SteadyClock clock;
  const auto signal = make_local_failure_signal();
  const auto device = platform::make_cpu_device({}, clock, *signal);
  auto loaded = load_weights(files, *device, executor, request);
  ASSERT_TRUE(loaded.ok()) << loaded.refusal().message();
  EXPECT_TRUE(loaded->plan.holds_plan());
  EXPECT_EQ(loaded->report.tensor_count, specs.size());
  for (const auto& [key, tensor] : encoder.tensors()) {
    EXPECT_EQ(sha256_hex(loaded->tensors->view("text_encoder." + key).bytes),
              sha256_hex(tensor.view().bytes));
  }
  EXPECT_TRUE(
      consume_plan(files, *device, loaded->plan.take(), {{&dit}, nullptr, {}}, loaded->events)
          .ok());
  EXPECT_TRUE(files.remove_tree(root).ok());
}

}  // namespace
}  // namespace dlo::host_weights
