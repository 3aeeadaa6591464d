// Owns: run_ranks, which runs one function per rank, each on a thread of its own, over a thread
// world, and hands the first exception on to the test.
// Must not own: devices. Threading: returns when all ranks have returned.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "comm/threads/thread_world.h"

namespace dlo::test_support {

inline void run_ranks(std::vector<std::unique_ptr<comm::World>>& worlds,
                      const std::function<void(comm::World&)>& rank_main) {
  std::vector<std::exception_ptr> failures(worlds.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < worlds.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        rank_main(*worlds[i]);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  for (const auto& failure : failures) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
}

}  // namespace dlo::test_support
