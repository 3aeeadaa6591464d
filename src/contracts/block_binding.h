// Owns: BlockBinding, the one pointer through which a block reaches its weights.
// Must not own: the bytes. The backend announces every place a block may be read from while it
// enables (that may allocate views); on the hot path, bind() is one assignment.
// Threading: called by the launching thread only. Views are captured when compute is launched, so
// rebinding never disturbs compute that is already enqueued.
#pragma once

#include <cstdint>

#include "base/tensor_view.h"

namespace dlo::contracts {

class BlockLayout;

// Index into the places that the backend announced for one block: its slots, or its resident copy.
using PlaceIndex = std::uint32_t;

class BlockBinding {
 public:
  virtual ~BlockBinding() = default;

  // Announces that the block may be read at `span`, laid out as `layout`; `layout` and `span`
  // stay valid until forget_places(). Called while enabling, with place = 0, 1, 2, ... in order.
  virtual void add_place(PlaceIndex place, DeviceSpan span, const BlockLayout& layout) = 0;

  // The next launched compute reads the block at `place`. Allocates nothing.
  virtual void bind(PlaceIndex place) noexcept = 0;

  // The block is offloaded: launching compute on it now throws RunError placeholder_read.
  virtual void bind_placeholder() noexcept = 0;

  // Drops all places (disable); the block is at its placeholder afterwards. Idempotent.
  virtual void forget_places() noexcept = 0;
};

}  // namespace dlo::contracts
