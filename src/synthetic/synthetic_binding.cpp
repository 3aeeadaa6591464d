#include "synthetic/synthetic_binding.h"

#include "base/codes.h"
#include "base/error.h"

namespace dlo::synthetic {

void SyntheticBinding::add_place(contracts::PlaceIndex place, DeviceSpan span,
                                 const contracts::BlockLayout& layout) {
  require(place == places_.size(), "places are announced in order");
  require(span.bytes >= layout.bytes(), "a place is smaller than its block");
  require(current_ == nullptr, "places are announced before one is bound");
  places_.push_back(BoundPlace{span, &layout});
}

void SyntheticBinding::forget_places() noexcept {
  current_ = nullptr;
  places_.clear();
}

const BoundPlace& SyntheticBinding::current() const {
  if (current_ == nullptr) {
    throw RunError(refuse(codes::kPlaceholderRead, "the block is offloaded", block_name_,
                          "call before_block first"));
  }
  return *current_;
}

}  // namespace dlo::synthetic
