// Owns: Gate, by which a test holds an operation back until it says so, so that no outcome depends
// on time. Opens itself when it goes, so that a test that fails first leaves nothing stuck; a test
// that ends well waits for what passes it.
// Must not own: deadlines (the watchdog's). Any thread.
#pragma once

#include <atomic>
#include <thread>

namespace dlo::test_support {

class Gate {
 public:
  Gate() = default;
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void open() { open_.store(true); }
  void pass() const {
    while (!open_.load()) {
      std::this_thread::yield();
    }
  }

 private:
  std::atomic<bool> open_{false};
};

}  // namespace dlo::test_support
