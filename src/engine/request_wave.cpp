#include "engine/request_wave.h"

#include <algorithm>

#include "base/error.h"

namespace dlo::engine {

std::vector<Assignment> assign_requests(std::uint32_t request_count, Schedule schedule, int dp_rank,
                                        int dp_size) {
  require(dp_rank >= 0 && dp_rank < dp_size, "assign_requests: replica outside the DP group");
  const auto replica = static_cast<std::uint32_t>(dp_rank);
  const auto replicas = static_cast<std::uint32_t>(dp_size);
  std::vector<Assignment> assignments;
  for (std::uint32_t first = 0; first < request_count; first += replicas) {
    const std::uint32_t wave_size = std::min(replicas, request_count - first);
    const bool answers = replica < wave_size;
    if (answers || schedule == Schedule::kWaves) {
      assignments.push_back(Assignment{first + replica % wave_size, answers});
    }
  }
  return assignments;
}

}  // namespace dlo::engine
