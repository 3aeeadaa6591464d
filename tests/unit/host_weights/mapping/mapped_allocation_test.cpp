// Goal: mapped tensors are read, and asked whether they are intact, without an allocation, so that
// a staged forward may do both. Method: a counter behind operator new around the two calls.
#include <gtest/gtest.h>

#include "base/failure_signal.h"
#include "host_weights/mapped_tensors.h"
#include "platform/cpu/cpu_device.h"
#include "platform/posix/steady_clock.h"
#include "tests/support/allocation_counter.h"
#include "tests/unit/host_weights/mapping/mapping_fixtures.h"

namespace dlo::host_weights {
namespace {

TEST(MappedAllocation, RunsOfAMappedTensor_AreReadWithoutAny) {
  const auto dit = test::grouped_dit();
  test::MemoryFileSystem files;
  test::write_sharded(files, "/m/transformer", test::stored_as_it_runs(dit));
  platform::SteadyClock clock;
  const auto signal = make_local_failure_signal();
  const auto device = platform::make_cpu_device({}, clock, *signal);
  const auto plan = preflight_checkpoint(files, test::request_for(dit)).value();
  auto opened = MappedTensors::open(files, plan, *device);
  const auto mapped = std::move(opened).value();
  std::uint64_t sum = 0;
  const contracts::RunSink sink = [&](std::uint64_t, ConstByteSpan run) { sum += run.size(); };
  const std::string name = test::kQkv;
  const auto before = test_support::allocation_count();
  mapped->for_each_run(name, sink);
  static_cast<void>(mapped->intact());
  EXPECT_EQ(test_support::allocation_count(), before);
  EXPECT_GT(sum, 0U);
}

}  // namespace
}  // namespace dlo::host_weights
