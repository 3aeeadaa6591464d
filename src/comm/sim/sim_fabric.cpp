#include "comm/sim/sim_fabric.h"

#include <cstring>

#include "base/error.h"

namespace dlo::comm {

void SimMeeting::deliver() {
  if (std::exchange(delivered, true)) {
    return;
  }
  for (const auto& receiver : arrivals) {
    std::byte* to = receiver->output.data;
    for (const auto& sender : arrivals) {
      std::memcpy(to, sender->input.data, sender->input.bytes);
      to += sender->input.bytes;
    }
  }
}

SimFabric::SimFabric(platform::sim::SimKernel& kernel, int rank_count)
    : kernel_(&kernel),
      watched_(static_cast<std::size_t>(rank_count)),
      devices_(static_cast<std::size_t>(rank_count), nullptr) {
  for (auto& watched : watched_) {
    for (int rank = 0; rank < rank_count; ++rank) {
      watched.insert(rank);
    }
  }
}

void SimFabric::raise(const Failure& failure) {
  failures_.push_back(failure);
  for (int rank = 0; rank < rank_count(); ++rank) {
    auto* device = devices_[static_cast<std::size_t>(rank)];
    const auto seen = poll(rank);
    if (device != nullptr && seen && rank != failure.rank) {
      kernel_->schedule(kernel_->now(), [this, rank, refusal = seen->refusal()] {
        if (auto* attached = devices_[static_cast<std::size_t>(rank)]; attached != nullptr) {
          attached->leave_collectives(refusal);
        }
      });
    }
  }
}

std::optional<Failure> SimFabric::poll(int rank) const {
  const auto& watched = watched_[static_cast<std::size_t>(rank)];
  for (const auto& failure : failures_) {
    if (watched.contains(failure.rank)) {
      return failure;
    }
  }
  return std::nullopt;
}

void SimFabric::watch(int rank, const std::vector<int>& world_ranks) {
  watched_[static_cast<std::size_t>(rank)] = std::set<int>(world_ranks.begin(), world_ranks.end());
}

void SimFabric::attach(int rank, platform::sim::SimDevice* device) {
  devices_[static_cast<std::size_t>(rank)] = device;
}

platform::sim::SimDevice& SimFabric::device(int rank) const {
  auto* device = devices_[static_cast<std::size_t>(rank)];
  require(device != nullptr, "a collective needs the rank's device attached to the fabric");
  return *device;
}

std::shared_ptr<SimMeeting> SimFabric::meeting(const std::string& group, std::uint64_t call,
                                               std::size_t size) {
  auto& slot = meetings_[{group, call}];
  if (!slot) {
    slot = std::make_shared<SimMeeting>();
    slot->arrivals.resize(size);
  }
  return slot;
}

std::shared_ptr<SimExchange> SimFabric::exchange(const std::string& group, std::uint64_t call,
                                                 std::size_t size) {
  auto& slot = exchanges_[{group, call}];
  if (!slot) {
    slot = std::make_shared<SimExchange>();
    slot->texts.resize(size);
  }
  return slot;
}

void SimFabric::forget_exchange(const std::string& group, std::uint64_t call) {
  exchanges_.erase({group, call});
}

void SimFabric::forget_meeting(const std::string& group, std::uint64_t call) {
  meetings_.erase({group, call});
}

}  // namespace dlo::comm
