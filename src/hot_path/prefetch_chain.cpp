#include "hot_path/prefetch_chain.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/codes.h"

namespace dlo::hot_path {

using platform::OpLabel;
using platform::Site;

PrefetchChain::PrefetchChain(SlotPool& slots, BlockTransfer& transfer, const ChainOptions& options,
                             const std::vector<ChainedRing>& rings)
    : slots_(slots), transfer_(transfer), options_(options) {
  for (const auto& ring : rings) {
    require(ring.leading < ring.block_count, "a ring needs at least one block to stream");
    for (auto block = ring.leading; block < ring.block_count; ++block) {
      places_.push_back(Place{ring.ring, block});
    }
  }
  require(options_.prefetch_depth <= kPrefetchDepthMax &&
              options_.prefetch_depth < places_.size() && options_.prefetch_depth < slots_.count(),
          "prefetch depth exceeds its maximum, the chain's blocks or the slots");
  counts_.repair_loads_of.resize(places_.size());
}

void PrefetchChain::prime() {
  fill(options_.prefetch_depth + 1, counts_.prime_loads);
}

HeldBlock PrefetchChain::take(ChainPosition position) {
  if (held_count_ == 0 || held_.front().position != position || !fresh(held_.front())) {
    bring_forward(position);
  }
  const auto taken = held_.front();
  remove(1);
  slots_.activate(taken.slot);
  return taken;
}

Status PrefetchChain::retire(platform::Device& device, Deadline deadline) const {
  for (std::size_t i = 0; i < held_count_; ++i) {
    const auto& held = held_[i];
    if (!fresh(held)) {
      continue;
    }
    const OpLabel label{Site::kDrain, static_cast<std::int32_t>(held.stamp.ring),
                        static_cast<std::int32_t>(held.stamp.block),
                        static_cast<std::int32_t>(held.slot), -1};
    auto landed = device.wait_host(slots_.ready(held.slot), deadline, label);
    if (!landed.ok()) {
      return landed;
    }
  }
  return {};
}

ChainPosition PrefetchChain::first_position(std::uint32_t ring) const {
  const auto first = std::find_if(places_.begin(), places_.end(),
                                  [ring](const Place& place) { return place.ring == ring; });
  require(first != places_.end(), "the ring is not of this chain");
  return static_cast<ChainPosition>(first - places_.begin());
}

bool PrefetchChain::fresh(const HeldBlock& held) const {
  return slots_.stamp(held.slot) == held.stamp;
}

std::size_t PrefetchChain::find(ChainPosition position) const {
  for (std::size_t i = 0; i < held_count_; ++i) {
    if (held_[i].position == position) {
      return fresh(held_[i]) ? i : held_count_;
    }
  }
  return held_count_;
}

bool PrefetchChain::every_rank_misses(ChainPosition position) const {
  if (held_count_ == 0) {
    return position == next_;
  }
  return held_.front().position == position && !fresh(held_.front());
}

void PrefetchChain::drop(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (fresh(held_[i])) {
      slots_.vacate(held_[i].slot);
    }
  }
  remove(count);
}

void PrefetchChain::remove(std::size_t count) {
  std::copy(held_.begin() + static_cast<std::ptrdiff_t>(count),
            held_.begin() + static_cast<std::ptrdiff_t>(held_count_), held_.begin());
  held_count_ -= count;
}

void PrefetchChain::bring_forward(ChainPosition position) {
  if (options_.on_miss == MissPolicy::kRefuse && !every_rank_misses(position)) {
    refuse_miss(position);
  }
  const auto index = find(position);
  if (index == held_count_) {
    repair(position);
  } else {
    drop(index);
  }
}

void PrefetchChain::repair(ChainPosition position) {
  drop(held_count_);
  next_ = position;
  ++counts_.repairs;
  while (held_count_ < options_.prefetch_depth + 1) {
    ++counts_.repair_loads_of[next_];
    load_next();
  }
}

void PrefetchChain::load_next() {
  const auto& place = places_[next_];
  const auto slot = slots_.choose(options_.chain);
  const auto stamp = slots_.claim(slot, options_.chain, place.ring, place.block);
  transfer_.load(BlockLoad{place.ring, place.block, slot, slots_.span(slot), slots_.ready(slot),
                           slots_.free(slot)});
  held_[held_count_++] = HeldBlock{next_, slot, stamp};
  ++next_;
  next_ = next_ == places_.size() ? 0 : next_;
}

void PrefetchChain::fill(std::size_t held_target, std::uint64_t& load_count) {
  while (held_count_ < held_target) {
    load_next();
    ++load_count;
  }
}

void PrefetchChain::refuse_miss(ChainPosition position) const {
  const auto& asked = places_[position];
  std::string held = "nothing";
  if (held_count_ > 0) {
    const auto& first = places_[held_.front().position];
    held = first.ring == asked.ring ? fmt::format("block {}", first.block)
                                    : fmt::format("block {} of ring {}", first.block, first.ring);
  }
  throw RunError(refuse(codes::kStaleSlot,
                        fmt::format("block {} runs where {} is held", asked.block, held),
                        fmt::format("ring {}", asked.ring),
                        "run every block once and in order: the other ranks of the AllGather "
                        "group do"));
}

}  // namespace dlo::hot_path
