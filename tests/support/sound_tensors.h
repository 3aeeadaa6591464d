// Owns: SoundTensors, host tensors of which nothing is asked but whether their files are whole:
// what a ChunkPacker over bytes of the caller's own needs. Must not own: the bytes. Threading: any
// thread. Failure: none.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "contracts/host_tensors.h"

namespace dlo::test {

class SoundTensors final : public contracts::HostTensors {
 public:
  [[nodiscard]] TensorView view(const std::string&) const override { return {}; }
  void release(const std::string&) override {}
  [[nodiscard]] std::uint64_t held_bytes() const override { return 0; }
  [[nodiscard]] bool intact() const noexcept override {
    if (when_asked) {
      when_asked();
    }
    return sound.load();
  }

  std::atomic<bool> sound{true};
  std::function<void()> when_asked;  // on the asking thread, before the answer
};

}  // namespace dlo::test
