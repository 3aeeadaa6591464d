// Owns: for_each_rank, which runs one function per rank of a thread world, each on a thread with a
// CPU device of its own, for benchmarks of collectives.
// Must not own: what is measured. Threading: returns when all ranks have.
// Failure: the first exception of a rank is thrown again.
#pragma once

#include <functional>

#include "benchmarks/bench_device.h"
#include "comm/threads/thread_world.h"
#include "tests/support/thread_ranks.h"

namespace dlo::benchmarks {

// One rank and its communicator over all of them.
struct BenchRank {
  BenchDevice& bench;
  comm::Communicator& communicator;
};

inline void for_each_rank(int ranks, const std::function<void(BenchRank)>& rank_main) {
  platform::SteadyClock clock;
  auto worlds = comm::make_thread_world(ranks, clock);
  std::vector<int> all;
  for (int rank = 0; rank < ranks; ++rank) {
    all.push_back(rank);
  }
  test_support::run_ranks(worlds, [&](comm::World& world) {
    BenchDevice bench(Where::kCpu);
    const auto communicator =
        world
            .make_communicator(all, "weights", Deadline::after(clock.now(), 60 * kSecond),
                               60 * kSecond)
            .value();
    rank_main({bench, *communicator});
  });
}

}  // namespace dlo::benchmarks
