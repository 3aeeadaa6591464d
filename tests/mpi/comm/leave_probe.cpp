// The program that leave_test starts under mpirun: one way to end per word on the command line.
// Prints one line a rank: what it saw.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "comm/mpi/mpi_world.h"
#include "platform/cpu/cpu_device.h"
#include "platform/posix/sigbus_guard.h"
#include "platform/posix/steady_clock.h"

namespace dlo::comm {
namespace {

constexpr Nanoseconds kTimeout = 30 * kSecond;

// A gather in which rank 1 does what `way` says instead of joining.
Status gather(World& world, platform::Clock& clock, std::string_view way) {
  std::vector<int> everyone(static_cast<std::size_t>(world.size()));
  std::iota(everyone.begin(), everyone.end(), 0);
  const auto deadline = Deadline::after(clock.now(), kTimeout);
  const auto made = world.make_communicator(everyone, "weights", deadline, kTimeout);
  if (!made.ok()) {
    return made.refusal();
  }
  if (world.rank() == 1) {
    ::kill(::getpid(), way == "stopped" ? SIGSTOP : SIGKILL);
  }
  const auto device =
      platform::make_cpu_device({.rank = world.rank()}, clock, world.failure_signal());
  const auto input = device->allocate_device(1024, platform::MemoryPurpose::kInputSlot);
  const auto output =
      device->allocate_device(1024 * everyone.size(), platform::MemoryPurpose::kSlot);
  (*made)->all_gather(*device, platform::StreamKind::kComm, (*input)->span(), (*output)->span(),
                      {platform::Site::kGather});
  return device->synchronize(deadline);
}

// Every rank leaves one gather by the failure of rank 1, in the middle of it; all of them live.
Status leave_a_gather(World& world, platform::Clock& clock) {
  std::vector<int> everyone(static_cast<std::size_t>(world.size()));
  std::iota(everyone.begin(), everyone.end(), 0);
  const auto deadline = Deadline::after(clock.now(), kTimeout);
  const auto made = world.make_communicator(everyone, "weights", deadline, kTimeout);
  if (!made.ok()) {
    return made.refusal();
  }
  const auto device =
      platform::make_cpu_device({.rank = world.rank()}, clock, world.failure_signal());
  // Long enough that nobody is through with it before the failure is raised.
  constexpr std::uint64_t kBytes = 64 * kMiB;
  const auto input = device->allocate_device(kBytes, platform::MemoryPurpose::kInputSlot);
  const auto output =
      device->allocate_device(kBytes * everyone.size(), platform::MemoryPurpose::kSlot);
  (*made)->all_gather(*device, platform::StreamKind::kComm, (*input)->span(), (*output)->span(),
                      {platform::Site::kGather});
  if (world.rank() == 1) {
    world.failure_signal().raise(Failure{"copy_failed", 1, -1, "probe", "on purpose"});
  }
  return device->synchronize(deadline);
}

int run(int argc, char** argv) {
  const std::string_view way = argc > 1 ? argv[1] : "";
  platform::SteadyClock clock;
  platform::install_sigbus_guard();
  const MpiWorldOptions options{.heartbeat_timeout = 2 * kSecond};
  auto world = MpiWorld::start(&argc, &argv, options, clock);
  if (!world.ok()) {
    std::printf("refused: %s\n", world.refusal().message().c_str());
    return 3;
  }
  const int rank = (*world)->rank();
  if (way == "codes") {
    const int code = (*world)->leave(rank);
    std::printf("rank %d left with %d\n", rank, code);
    return code;
  }
  if (way == "gather_left") {
    const Status left = leave_a_gather(**world, clock);
    std::printf("rank %d left with %s\n", rank, left.ok() ? "ok" : left.refusal().code.c_str());
    return (*world)->leave(left.ok() ? 1 : 0);
  }
  const Status status = gather(**world, clock, way == "late" ? "stopped" : way);
  if (way == "late" && rank == 2) {
    // Still at its verdict when the other survivor leaves.
    const auto deadline = Deadline::after(clock.now(), 2 * kSecond);
    while (!deadline.expired(clock.now())) {
      std::this_thread::yield();
    }
  }
  std::printf("rank %d saw %s\n", rank, status.ok() ? "ok" : status.refusal().message().c_str());
  return (*world)->leave(status.ok() ? 0 : 1);
}

}  // namespace
}  // namespace dlo::comm

int main(int argc, char** argv) {
  return dlo::comm::run(argc, argv);
}
