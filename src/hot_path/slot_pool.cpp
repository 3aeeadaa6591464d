#include "hot_path/slot_pool.h"

#include <fmt/format.h>

#include "base/codes.h"

namespace dlo::hot_path {

SlotPool::SlotPool(platform::Device& device, const std::vector<DeviceSpan>& slots) {
  slots_.reserve(slots.size());
  for (const auto& span : slots) {
    Slot slot;
    slot.span = span;
    slot.ready = device.create_event();
    slot.free = device.create_event();
    slots_.push_back(slot);
  }
}

SlotIndex SlotPool::choose(std::uint32_t chain) const {
  const auto none = count();
  auto vacant = none;
  auto foreign = none;
  for (SlotIndex i = 0; i < none; ++i) {
    const auto& slot = slots_[i];
    auto& best = slot.state == SlotState::kVacant ? vacant : foreign;
    const bool usable =
        slot.state == SlotState::kVacant || (slot.state == SlotState::kHeld && slot.chain != chain);
    if (usable && (best == none || slot.changed < slots_[best].changed)) {
      best = i;
    }
  }
  const auto chosen = vacant != none ? vacant : foreign;
  if (chosen == none) {
    throw RunError(refuse(codes::kStaleSlot, "every slot is in use", fmt::format("chain {}", chain),
                          "run one block at a time and call after_block for each"));
  }
  return chosen;
}

SlotStamp SlotPool::claim(SlotIndex slot, std::uint32_t chain, std::uint32_t ring,
                          std::uint32_t block) {
  auto& taken = slots_[slot];
  const bool own = taken.state == SlotState::kHeld && taken.chain == chain;
  if (taken.state == SlotState::kActive || own) {
    throw RunError(refuse(
        codes::kStaleSlot,
        fmt::format("a load of ring {} block {} aims at slot {}, which still serves ring {} block "
                    "{}",
                    ring, block, slot, taken.stamp.ring, taken.stamp.block),
        fmt::format("slot {}", slot), "this is a defect of the slot choice; report it"));
  }
  taken.stamp = SlotStamp{ring, block, ++generation_};
  taken.chain = chain;
  taken.state = SlotState::kHeld;
  taken.changed = ++changes_;
  return taken.stamp;
}

void SlotPool::activate(SlotIndex slot) {
  require(slots_[slot].state == SlotState::kHeld, "only a held slot can become active");
  slots_[slot].state = SlotState::kActive;
  slots_[slot].changed = ++changes_;
}

void SlotPool::vacate(SlotIndex slot) {
  slots_[slot].state = SlotState::kVacant;
  slots_[slot].changed = ++changes_;
}

}  // namespace dlo::hot_path
