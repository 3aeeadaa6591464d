// Owns: BlockRing, the per-block protocol of one DiT's ring: what compute waits for, which slot a
// block reads, and when that slot is free again.
// Must not own: which block is loaded when and where (prefetch_chain.h), slots (slot_pool.h),
// copies and gathers (block_transfer.h), weights, files.
// Threading: launching thread. Nothing allocates between PrefetchChain::prime() and destruction but
// a thrown error. Failure: before_block and after_block throw RunError with the device's or a
// peer's code, or stale_slot.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/failure_signal.h"
#include "contracts/block_binding.h"
#include "contracts/block_observer.h"
#include "hot_path/prefetch_chain.h"
#include "hot_path/slot_pool.h"
#include "platform/device.h"

// Timeline of one ring with two slots A and B (prefetch depth 1), AllGather with two chunks c0, c1;
// rank-local has no comm row and records ready on copy:
//
//   host     before(n)       after(n)         before(n+1)      after(n+1)
//               |               | refill A        |               | refill B
//   copy     .. H2D(n+1 c0)(n+1 c1) H2D(n+2 c0)(n+2 c1) ...  H2D(n+3 c0) ..
//                     |landed       |  ^ input_free    |landed
//   comm     ......... AG(n+1 c0)(n+1 c1) . . . . AG(n+2 c0)(n+2 c1) ........
//                                 ready[B] |   ^ free[A]           | ready[A]
//   compute  [ block n in A .............. ][ block n+1 in B ......... ][ block n+2 in A
//                                  free[A] ^                   free[B] ^
//
//   ready[s]: comm|copy -> compute    free[s]: compute -> comm|copy
//   landed[k]: copy -> comm           input_free[k]: comm -> copy
//
// The slot of a load is the one that its predecessors vacated, found at run time. The walk wraps:
// the last blocks of a ring prefetch the first blocks of the ring that is walked next, its own
// where there is no other: across the scheduler and the embeddings, into the next forward. With
// depth d, d + 1 slots hold the block that runs and the d that follow.
//
// Deviates from vLLM-Omni: a load waits for the slot's own free event, not for the whole compute
// stream, and is issued in after_block, not at the next before_block.

namespace dlo::hot_path {

class BlockRing final : public contracts::BlockObserver {
 public:
  // Everything passed is not owned and outlives the ring. `chain` knows `ring` as one of its own,
  // `bindings` are those of the ring's blocks, in order, each with one place a slot, place index =
  // slot index. `signal` may be null.
  BlockRing(platform::Device& device, SlotPool& slots, PrefetchChain& chain,
            const FailureSignal* signal, const ChainedRing& ring,
            std::vector<contracts::BlockBinding*> bindings);

  // A leading block is somebody else's: nothing happens.
  void before_block(std::uint32_t block) override;
  void after_block(std::uint32_t block) override;

 private:
  void check_failures() const;

  platform::Device& device_;
  SlotPool& slots_;
  PrefetchChain& chain_;
  const FailureSignal* signal_;
  std::uint32_t leading_;
  ChainPosition first_;  // of the ring's first streamed block
  std::vector<contracts::BlockBinding*> bindings_;
  std::optional<HeldBlock> current_;  // between before_block and after_block
};

}  // namespace dlo::hot_path
