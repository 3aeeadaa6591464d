// Owns: BlockRing, the per-block protocol of one DiT: which block is loaded next and into which
// slot, what compute waits for, and what happens when the block that comes is not the one held.
// Must not own: slots (slot_pool.h), copies and gathers (block_transfer.h), weights, files.
// Threading: launching thread. Nothing allocates between prime() and destruction but a thrown
// error. Failure: before_block and after_block throw RunError with the device's or a peer's code,
// or stale_slot.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/failure_signal.h"
#include "contracts/block_binding.h"
#include "contracts/block_observer.h"
#include "hot_path/block_transfer.h"
#include "hot_path/slot_pool.h"

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
// the last blocks of a forward prefetch the first blocks of the next one, across the scheduler and
// the embeddings. With depth d, d + 1 slots hold the block that runs and the d that follow.
//
// Deviates from vLLM-Omni: a load waits for the slot's own free event, not for the whole compute
// stream, and is issued in after_block, not at the next before_block.

namespace dlo::hot_path {

inline constexpr std::uint32_t kPrefetchDepthMax = 4;

// A block that comes out of order, twice, or after others were skipped: load it on the spot, or
// refuse, where other ranks of a collective might not take the same path. A block whose slot
// another ring has taken (group-first entry) is always loaded anew: every rank walks the same
// rings.
enum class MissPolicy : std::uint8_t { kRepair, kRefuse };

struct RingOptions {
  std::uint32_t ring = 0;            // index for labels, stamps and sources
  std::uint32_t prefetch_depth = 1;  // at most kPrefetchDepthMax and streamed block count - 1
  MissPolicy on_miss = MissPolicy::kRefuse;
  // Blocks at the head that somebody else keeps on the device: their calls do nothing.
  std::uint32_t leading = 0;
};

struct RingCounts {
  std::uint64_t prime_loads = 0;
  std::uint64_t refill_loads = 0;
  std::uint64_t repairs = 0;                   // before_block calls that found nothing to read
  std::vector<std::uint64_t> repair_loads_of;  // by block: loads that repairs cost
};

class BlockRing final : public contracts::BlockObserver {
 public:
  // Everything passed is not owned and outlives the ring. `bindings` in ring order, each with one
  // place a slot, place index = slot index. `signal` may be null.
  BlockRing(platform::Device& device, SlotPool& slots, BlockTransfer& transfer,
            const FailureSignal* signal, const RingOptions& options,
            std::vector<contracts::BlockBinding*> bindings);

  // Fills the ring's slots from the first streamed block on, without waiting.
  // Deviates from vLLM-Omni: block 0 is primed, where the reference primes the last block.
  void prime();

  void before_block(std::uint32_t block) override;
  void after_block(std::uint32_t block) override;

  // Waits on the host until the loads in flight have landed; the slots keep their blocks.
  [[nodiscard]] Status retire(Deadline deadline);

  [[nodiscard]] const RingCounts& counts() const { return counts_; }

 private:
  struct Held {
    SlotIndex slot = 0;
    SlotStamp stamp;
  };

  [[nodiscard]] std::size_t streamed_count() const { return bindings_.size() - options_.leading; }
  void check_failures() const;
  [[nodiscard]] bool fresh(const Held& held) const;
  // Position of `block` among the held slots, held_count_ when it is not there.
  [[nodiscard]] std::size_t find(std::uint32_t block) const;
  // Gives up the first `count` held slots, unless another ring has taken them already.
  void drop(std::size_t count);
  // Takes the first `count` entries off the list; their slots stay as they are.
  void remove(std::size_t count);
  // Makes `block` the first held one, or throws stale_slot where the policy says so.
  void repair(std::uint32_t block);
  void load_next();
  void fill(std::size_t held_target, std::uint64_t& load_count);
  [[noreturn]] void refuse_miss(std::uint32_t block) const;

  platform::Device& device_;
  SlotPool& slots_;
  BlockTransfer& transfer_;
  const FailureSignal* signal_;
  RingOptions options_;
  std::vector<contracts::BlockBinding*> bindings_;
  // Loaded or loading, in the order in which the blocks will run.
  std::array<Held, kPrefetchDepthMax + 1> held_{};
  std::size_t held_count_ = 0;
  std::uint32_t next_block_ = 0;  // what load_next() loads
  bool active_ = false;
  Held current_;  // meaningful while active_
  RingCounts counts_;
};

}  // namespace dlo::hot_path
