// Owns: PrefetchChain, the blocks of rings that a forward walks one after the other, in that order
// and around again: which block is loaded next and into which slot, which are held, and what
// happens when the block that comes is not the one held.
// Must not own: slots (slot_pool.h), copies and gathers (block_transfer.h), what compute waits for
// and which weights a block reads (block_ring.h).
// Threading: launching thread. Nothing allocates between prime() and destruction but a thrown
// error. Failure: take() throws RunError stale_slot.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "hot_path/block_transfer.h"
#include "hot_path/slot_pool.h"

// Most models are a chain of one ring. A DiT with a token refiner is a chain of two: the refiner's
// blocks, then its own. Where the walk of a ring ends, the slots that become free are filled from
// the ring that is walked next, so that no ring finds its first blocks displaced and every forward
// is exactly one load a block:
//
//   runs    R0  R1  M0  M1 ... M8  M9  | R0  R1  M0 ...       R: refiner of 2, M: main ring of 10
//   loads   M0  M1  M2  M3 ... R0  R1  | M0  M1  M2 ...       depth 1: two slots
//
// Deviates from vLLM-Omni: the end of a ring's walk prefetches the ring that runs next, not its own
// first block, which that ring would displace.

namespace dlo::hot_path {

inline constexpr std::uint32_t kPrefetchDepthMax = 4;

// A block that comes out of order, twice, or after others were skipped: load it on the spot, or
// refuse, where other ranks of a collective might not take the same path. A ring that a forward
// leaves out is blocks left out. Two misses are always loaded anew, for a rank that runs every
// block in order has them: the block that comes next when another chain has taken its slot, and
// the first block of a chain that holds nothing yet (group-first entry).
enum class MissPolicy : std::uint8_t { kRepair, kRefuse };

struct ChainOptions {
  std::uint32_t chain = 0;           // index: whose slots are whose
  std::uint32_t prefetch_depth = 1;  // at most kPrefetchDepthMax and streamed block count - 1
  MissPolicy on_miss = MissPolicy::kRefuse;
};

// One ring of a chain.
struct ChainedRing {
  std::uint32_t ring = 0;  // index for labels, stamps and sources
  std::uint32_t block_count = 0;
  // Blocks at the head that somebody else keeps on the device: they are never loaded here.
  std::uint32_t leading = 0;
};

// Place of a streamed block in the chain's order.
using ChainPosition = std::uint32_t;

// A block of the chain that is in a slot or on its way there.
struct HeldBlock {
  ChainPosition position = 0;
  SlotIndex slot = 0;
  SlotStamp stamp;
};

struct ChainCounts {
  std::uint64_t prime_loads = 0;
  std::uint64_t refill_loads = 0;
  std::uint64_t repairs = 0;                   // take() calls that found nothing to read
  std::vector<std::uint64_t> repair_loads_of;  // by position: loads that repairs cost
};

class PrefetchChain {
 public:
  // Everything passed is not owned and outlives the chain. `rings` in the order in which a forward
  // walks them. LogicError unless at least one block of each is streamed and the depth fits blocks
  // and slots.
  PrefetchChain(SlotPool& slots, BlockTransfer& transfer, const ChainOptions& options,
                const std::vector<ChainedRing>& rings);

  // Fills the chain's slots from its first block on, without waiting.
  // Deviates from vLLM-Omni: block 0 is primed, where the reference primes the last block.
  void prime();

  // The block at `position` runs now: it is held or gets loaded, leaves the list and its slot is
  // active. Throws RunError stale_slot where the policy says so; nothing was issued then.
  HeldBlock take(ChainPosition position);
  // A block was taken: loads into slots of blocks that were skipped, before compute is launched.
  // Nothing when none were.
  void refill_skipped() { fill(options_.prefetch_depth, counts_.refill_loads); }
  // The taken block's slot is vacant and compute was told when it is free: it is refilled.
  void refill_vacated() { fill(options_.prefetch_depth + 1, counts_.refill_loads); }

  // Waits on the host until the loads in flight have landed; the slots keep their blocks.
  [[nodiscard]] Status retire(platform::Device& device, Deadline deadline) const;

  // Position of the first streamed block of the chain's ring with index `ring`. LogicError when it
  // is not of this chain.
  [[nodiscard]] ChainPosition first_position(std::uint32_t ring) const;
  // Ring and block at a position.
  struct Place {
    std::uint32_t ring = 0;
    std::uint32_t block = 0;
  };
  [[nodiscard]] const Place& place(ChainPosition position) const { return places_.at(position); }
  [[nodiscard]] const ChainCounts& counts() const { return counts_; }

 private:
  [[nodiscard]] bool fresh(const HeldBlock& held) const;
  // Index of `position` among the held blocks, held_count_ when it is not there.
  [[nodiscard]] std::size_t find(ChainPosition position) const;
  // Whether the block comes in the chain's order and only has to be loaded: other ranks that keep
  // the order do the same.
  [[nodiscard]] bool every_rank_misses(ChainPosition position) const;
  // Gives up the first `count` held slots, unless another chain has taken them already.
  void drop(std::size_t count);
  // Takes the first `count` entries off the list; their slots stay as they are.
  void remove(std::size_t count);
  // Makes the block at `position` the first held one.
  void bring_forward(ChainPosition position);
  void repair(ChainPosition position);
  void load_next();
  void fill(std::size_t held_target, std::uint64_t& load_count);
  [[noreturn]] void refuse_miss(ChainPosition position) const;

  SlotPool& slots_;
  BlockTransfer& transfer_;
  ChainOptions options_;
  std::vector<Place> places_;  // by position
  // Loaded or loading, in the order in which the blocks will run.
  std::array<HeldBlock, kPrefetchDepthMax + 1> held_{};
  std::size_t held_count_ = 0;
  ChainPosition next_ = 0;  // what load_next() loads
  ChainCounts counts_;
};

}  // namespace dlo::hot_path
