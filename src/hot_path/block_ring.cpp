#include "hot_path/block_ring.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/codes.h"

namespace dlo::hot_path {

using platform::OpLabel;
using platform::Site;
using platform::StreamKind;

namespace {

OpLabel label_of(const SlotStamp& stamp, SlotIndex slot, Site site) {
  return OpLabel{site, static_cast<std::int32_t>(stamp.ring),
                 static_cast<std::int32_t>(stamp.block), static_cast<std::int32_t>(slot), -1};
}

}  // namespace

BlockRing::BlockRing(platform::Device& device, SlotPool& slots, BlockTransfer& transfer,
                     const FailureSignal* signal, const RingOptions& options,
                     std::vector<contracts::BlockBinding*> bindings)
    : device_(device),
      slots_(slots),
      transfer_(transfer),
      signal_(signal),
      options_(options),
      bindings_(std::move(bindings)) {
  require(options_.leading < bindings_.size(), "a ring needs at least one block to stream");
  require(options_.prefetch_depth <= kPrefetchDepthMax &&
              options_.prefetch_depth < streamed_count() &&
              options_.prefetch_depth < slots_.count(),
          "prefetch depth exceeds its maximum, the ring or the slots");
  counts_.repair_loads_of.resize(bindings_.size());
  next_block_ = options_.leading;
}

void BlockRing::prime() {
  fill(options_.prefetch_depth + 1, counts_.prime_loads);
}

void BlockRing::before_block(std::uint32_t block) {
  check_failures();
  require(block < bindings_.size() && !active_, "before_block out of range or called twice");
  if (block < options_.leading) {
    return;
  }
  const auto position = find(block);
  if (position == held_count_) {
    repair(block);
  } else if (position > 0) {
    if (options_.on_miss == MissPolicy::kRefuse) {
      refuse_miss(block);
    }
    drop(position);
  }
  current_ = held_.front();
  remove(1);
  slots_.activate(current_.slot);
  active_ = true;
  device_.wait(StreamKind::kCompute, slots_.ready(current_.slot),
               label_of(current_.stamp, current_.slot, Site::kReadyWait));
  bindings_[block]->bind(current_.slot);
  // Nothing to do unless blocks were skipped: their slots are refilled before compute is launched.
  fill(options_.prefetch_depth, counts_.refill_loads);
}

void BlockRing::after_block(std::uint32_t block) {
  if (block < options_.leading) {
    return;
  }
  require(active_ && current_.stamp.block == block, "after_block without its before_block");
  bindings_[block]->bind_placeholder();
  device_.record(slots_.free(current_.slot), StreamKind::kCompute,
                 label_of(current_.stamp, current_.slot, Site::kFreeRecord));
  slots_.vacate(current_.slot);
  active_ = false;
  check_failures();
  fill(options_.prefetch_depth + 1, counts_.refill_loads);
}

Status BlockRing::retire(Deadline deadline) {
  for (std::size_t i = 0; i < held_count_; ++i) {
    if (!fresh(held_[i])) {
      continue;
    }
    const auto slot = held_[i].slot;
    auto landed = device_.wait_host(slots_.ready(slot), deadline,
                                    label_of(held_[i].stamp, slot, Site::kDrain));
    if (!landed.ok()) {
      return landed;
    }
  }
  return {};
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

bool BlockRing::fresh(const Held& held) const {
  return slots_.stamp(held.slot) == held.stamp;
}

std::size_t BlockRing::find(std::uint32_t block) const {
  for (std::size_t i = 0; i < held_count_; ++i) {
    if (held_[i].stamp.block == block) {
      return fresh(held_[i]) ? i : held_count_;
    }
  }
  return held_count_;
}

void BlockRing::drop(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (fresh(held_[i])) {
      slots_.vacate(held_[i].slot);
    }
  }
  remove(count);
}

void BlockRing::remove(std::size_t count) {
  std::copy(held_.begin() + static_cast<std::ptrdiff_t>(count),
            held_.begin() + static_cast<std::ptrdiff_t>(held_count_), held_.begin());
  held_count_ -= count;
}

void BlockRing::repair(std::uint32_t block) {
  const bool displaced = held_count_ == 0
                             ? block == options_.leading
                             : held_.front().stamp.block == block && !fresh(held_.front());
  if (!displaced && options_.on_miss == MissPolicy::kRefuse) {
    refuse_miss(block);
  }
  drop(held_count_);
  next_block_ = block;
  ++counts_.repairs;
  while (held_count_ < options_.prefetch_depth + 1) {
    ++counts_.repair_loads_of[next_block_];
    load_next();
  }
}

void BlockRing::load_next() {
  const auto slot = slots_.choose(options_.ring);
  const auto stamp = slots_.claim(slot, options_.ring, next_block_);
  transfer_.load(BlockLoad{options_.ring, next_block_, slot, slots_.span(slot), slots_.ready(slot),
                           slots_.free(slot)});
  held_[held_count_++] = Held{slot, stamp};
  ++next_block_;
  next_block_ = next_block_ == bindings_.size() ? options_.leading : next_block_;
}

void BlockRing::fill(std::size_t held_target, std::uint64_t& load_count) {
  while (held_count_ < held_target) {
    load_next();
    ++load_count;
  }
}

void BlockRing::refuse_miss(std::uint32_t block) const {
  const std::string held = held_count_ == 0 ? std::string("nothing")
                                            : fmt::format("block {}", held_.front().stamp.block);
  throw RunError(refuse(codes::kStaleSlot,
                        fmt::format("block {} runs where {} is held", block, held),
                        fmt::format("ring {}", options_.ring),
                        "run every block once and in order: the other ranks of the AllGather "
                        "group do"));
}

}  // namespace dlo::hot_path
