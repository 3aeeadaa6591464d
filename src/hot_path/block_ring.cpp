#include "hot_path/block_ring.h"

#include <utility>

namespace dlo::hot_path {

using platform::OpLabel;
using platform::Site;
using platform::StreamKind;

namespace {

OpLabel label_of(const HeldBlock& held, Site site) {
  return OpLabel{site, static_cast<std::int32_t>(held.stamp.ring),
                 static_cast<std::int32_t>(held.stamp.block), static_cast<std::int32_t>(held.slot),
                 -1};
}

}  // namespace

BlockRing::BlockRing(platform::Device& device, SlotPool& slots, PrefetchChain& chain,
                     const FailureSignal* signal, const ChainedRing& ring,
                     std::vector<contracts::BlockBinding*> bindings)
    : device_(device),
      slots_(slots),
      chain_(chain),
      signal_(signal),
      leading_(ring.leading),
      first_(chain.first_position(ring.ring)),
      bindings_(std::move(bindings)) {
  require(bindings_.size() == ring.block_count, "one binding a block");
}

void BlockRing::before_block(std::uint32_t block) {
  check_failures();
  require(block < bindings_.size() && !current_, "before_block out of range or called twice");
  if (block < leading_) {
    return;
  }
  current_ = chain_.take(first_ + block - leading_);
  device_.wait(StreamKind::kCompute, slots_.ready(current_->slot),
               label_of(*current_, Site::kReadyWait));
  bindings_[block]->bind(current_->slot);
  chain_.refill_skipped();
}

void BlockRing::after_block(std::uint32_t block) {
  if (block < leading_) {
    return;
  }
  require(current_ && current_->stamp.block == block, "after_block without its before_block");
  bindings_[block]->bind_placeholder();
  const auto slot = current_->slot;
  device_.record(slots_.free(slot), StreamKind::kCompute, label_of(*current_, Site::kFreeRecord));
  slots_.vacate(slot);
  current_.reset();
  check_failures();
  chain_.refill_vacated();
}

void BlockRing::check_failures() const {
  if (auto failure = device_.failure()) {
    throw RunError(*std::move(failure));
  }
  if (signal_ != nullptr) {
    if (const auto failure = signal_->poll()) {
      throw RunError(failure->refusal());
    }
  }
}

}  // namespace dlo::hot_path
