#include "model/bound_ring.h"

#include <utility>

namespace dlo::model {

BoundRing::BoundRing(contracts::DitSpec spec, ComputeDevice device) : spec_(std::move(spec)) {
  for (auto& block : spec_.blocks) {
    bindings_.push_back(std::make_unique<TorchBlockBinding>(block, device));
    block.binding = bindings_.back().get();
  }
  edges_ = std::make_unique<TorchBlockBinding>(spec_.non_block, device);
  spec_.non_block.binding = edges_.get();
}

std::vector<const TorchBlockBinding*> BoundRing::blocks() const {
  std::vector<const TorchBlockBinding*> pointers;
  for (const auto& binding : bindings_) {
    pointers.push_back(binding.get());
  }
  return pointers;
}

}  // namespace dlo::model
