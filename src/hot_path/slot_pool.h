// Owns: SlotPool, the output slots that all chains of rings share: the span, the two events and the
// owner stamp of each, and which slot a load may take.
// Must not own: the bytes (the backend's buffers), transfers, the order of blocks
// (prefetch_chain.h). Slots are taken in the order in which they became vacant, never by block
// index: with an index the wrap of an odd ring would aim at a slot that is still to be read.
// Threading: launching thread. Failure: a load aimed at a slot that its own chain still needs
// throws RunError stale_slot; nothing was issued then. Allocates nothing after construction.
#pragma once

#include <cstdint>
#include <vector>

#include "base/tensor_view.h"
#include "platform/device.h"

namespace dlo::hot_path {

using SlotIndex = std::uint32_t;

// Whose bytes a slot holds or is about to hold. Generations count loads over all rings from 1; 0 is
// a slot that was never loaded.
struct SlotStamp {
  std::uint32_t ring = 0;
  std::uint32_t block = 0;
  std::uint64_t generation = 0;

  friend bool operator==(const SlotStamp&, const SlotStamp&) = default;
};

//            claim               activate              vacate
//   vacant ----------> held ------------------> active -------> vacant
//                       | vacate: skipped, or another chain claims it
//                       +----------------------------------> vacant
enum class SlotState : std::uint8_t {
  kVacant,  // nobody will read it
  kHeld,    // loaded or loading for a block that is still to come
  kActive,  // between before_block and after_block of its block
};

class SlotPool {
 public:
  // Creates two events a slot on `device`. `slots` stay valid as long as the pool.
  SlotPool(platform::Device& device, const std::vector<DeviceSpan>& slots);

  [[nodiscard]] SlotIndex count() const { return static_cast<SlotIndex>(slots_.size()); }
  [[nodiscard]] DeviceSpan span(SlotIndex slot) const { return slots_[slot].span; }
  // Recorded behind the load, awaited by compute.
  [[nodiscard]] platform::EventId ready(SlotIndex slot) const { return slots_[slot].ready; }
  // Recorded behind the last kernel that reads the slot, awaited by the next load.
  [[nodiscard]] platform::EventId free(SlotIndex slot) const { return slots_[slot].free; }
  [[nodiscard]] SlotState state(SlotIndex slot) const { return slots_[slot].state; }
  [[nodiscard]] const SlotStamp& stamp(SlotIndex slot) const { return slots_[slot].stamp; }

  // The slot that the next load of `chain` takes: the one vacant for longest; without a vacant one,
  // the one that another chain has held for longest. Throws RunError stale_slot when there is none.
  [[nodiscard]] SlotIndex choose(std::uint32_t chain) const;

  // Stamps `slot` for `block` of `ring`, which `chain` walks, with a new generation. Throws
  // RunError stale_slot when the slot is active, or held by the same chain.
  SlotStamp claim(SlotIndex slot, std::uint32_t chain, std::uint32_t ring, std::uint32_t block);

  // The block of the slot's stamp is about to be read. Precondition: held.
  void activate(SlotIndex slot);

  // Nobody needs the slot's bytes any more.
  void vacate(SlotIndex slot);

 private:
  struct Slot {
    DeviceSpan span;
    platform::EventId ready;
    platform::EventId free;
    SlotState state = SlotState::kVacant;
    SlotStamp stamp;
    std::uint32_t chain = 0;    // of the stamp
    std::uint64_t changed = 0;  // order of the last change of state
  };

  std::vector<Slot> slots_;
  std::uint64_t generation_ = 0;
  std::uint64_t changes_ = 0;
};

}  // namespace dlo::hot_path
