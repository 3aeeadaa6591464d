// Owns: SimFabric, what the simulated ranks of one kernel share: failure board, control exchanges
// and the meeting points of collectives.
// Must not own: virtual time or streams (platform/sim). One fabric a kernel; every access happens
// under the kernel's baton.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/failure_signal.h"
#include "platform/sim/sim_device.h"

namespace dlo::comm {

// One rank's part in a collective.
struct SimArrival {
  platform::sim::SimDevice* device = nullptr;
  platform::sim::OpIndex op = 0;
  platform::OpLabel label;
  DeviceSpan input;
  DeviceSpan output;
  std::uint64_t timer = 0;
};

// Members of one collective call as they arrive; all begin at the instant the last one arrives.
struct SimMeeting {
  std::vector<std::optional<SimArrival>> arrivals;  // by group rank
  std::size_t arrived_count = 0;
  bool begun = false;
  bool delivered = false;

  // Moves every member's input into every member's output, once.
  void deliver();
};

// Host-side exchange under way.
struct SimExchange {
  std::string operation;
  std::vector<std::optional<std::string>> texts;  // by group rank
};

class SimFabric {
 public:
  SimFabric(platform::sim::SimKernel& kernel, int rank_count);

  [[nodiscard]] platform::sim::SimKernel& kernel() { return *kernel_; }
  [[nodiscard]] int rank_count() const { return static_cast<int>(watched_.size()); }

  // --- failures ---------------------------------------------------------------------------
  void raise(const Failure& failure);
  [[nodiscard]] std::optional<Failure> poll(int rank) const;
  void watch(int rank, const std::vector<int>& world_ranks);
  void reset_failures() { failures_.clear(); }
  void attach(int rank, platform::sim::SimDevice* device);
  [[nodiscard]] platform::sim::SimDevice& device(int rank) const;

  // --- meeting points, found by group name and call number ------------------------------------
  [[nodiscard]] std::shared_ptr<SimMeeting> meeting(const std::string& group, std::uint64_t call,
                                                    std::size_t size);
  [[nodiscard]] std::shared_ptr<SimExchange> exchange(const std::string& group, std::uint64_t call,
                                                      std::size_t size);
  void forget_exchange(const std::string& group, std::uint64_t call);
  void forget_meeting(const std::string& group, std::uint64_t call);

 private:
  using Key = std::pair<std::string, std::uint64_t>;

  platform::sim::SimKernel* kernel_;
  std::vector<std::set<int>> watched_;  // by rank
  std::vector<platform::sim::SimDevice*> devices_;
  std::vector<Failure> failures_;  // in the order they were raised
  std::map<Key, std::shared_ptr<SimMeeting>> meetings_;
  std::map<Key, std::shared_ptr<SimExchange>> exchanges_;
};

}  // namespace dlo::comm
