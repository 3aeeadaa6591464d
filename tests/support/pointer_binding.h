// Owns: PointerBinding, a block's binding that remembers where it points: all that a ring changes.
// Must not own: tensors, places' memory. Threading: the launching thread. Failure: none.
#pragma once

#include "contracts/block_binding.h"

namespace dlo::test {

// Remembers where it points; -1 is the placeholder.
class PointerBinding final : public contracts::BlockBinding {
 public:
  void add_place(contracts::PlaceIndex, DeviceSpan, const contracts::BlockLayout&) override {}
  void bind(contracts::PlaceIndex place) noexcept override { at = static_cast<int>(place); }
  void bind_placeholder() noexcept override { at = -1; }
  void forget_places() noexcept override { at = -1; }

  int at = -1;
};

}  // namespace dlo::test
