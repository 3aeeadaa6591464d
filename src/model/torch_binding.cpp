#include "model/torch_binding.h"

#include <fmt/format.h>

#include "base/codes.h"
#include "base/error.h"
#include "model/torch_views.h"

namespace dlo::model {

TorchBlockBinding::TorchBlockBinding(const contracts::BlockSpec& block, ComputeDevice device)
    : block_(block), device_(device) {}

TorchBlockBinding::~TorchBlockBinding() = default;

void TorchBlockBinding::add_place(contracts::PlaceIndex place, DeviceSpan span,
                                  const contracts::BlockLayout& layout) {
  require(place == places_.size(),
          fmt::format("place {} of '{}' was announced out of order", place, block_.name));
  places_.push_back(std::make_shared<const BlockViews>(make_views(block_, span, layout, device_)));
}

void TorchBlockBinding::bind(contracts::PlaceIndex place) noexcept {
  current_ = places_[place];
}

void TorchBlockBinding::bind_placeholder() noexcept {
  current_.reset();
}

void TorchBlockBinding::forget_places() noexcept {
  current_.reset();
  places_.clear();
}

BlockViewsRef TorchBlockBinding::current() const {
  if (current_ == nullptr) {
    throw RunError(refuse(codes::kPlaceholderRead,
                          "compute was launched on a block whose weights are not on the device",
                          block_.name,
                          "report this as a bug: before_block must bind the block first"));
  }
  return current_;
}

}  // namespace dlo::model
