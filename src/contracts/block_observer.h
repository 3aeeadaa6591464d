// Owns: BlockObserver, what a BlockSequence calls around each of its blocks.
// Must not own: the model's order; the sequence calls, the observer follows. No observer is the
// resident baseline: the same code, one pointer apart.
// Threading: called by the launching thread. Both functions may throw RunError when the transfer
// failed under a stable code; the forward then ends and the error reaches the engine.
#pragma once

#include <cstdint>

namespace dlo::contracts {

class BlockObserver {
 public:
  virtual ~BlockObserver() = default;

  // Before compute of block `block` is launched: on return its binding points at weights that the
  // compute stream will find ready.
  virtual void before_block(std::uint32_t block) = 0;

  // After compute of block `block` was launched: its slot is marked free behind that compute and
  // the refill is issued; the block points at its placeholder.
  virtual void after_block(std::uint32_t block) = 0;
};

}  // namespace dlo::contracts
