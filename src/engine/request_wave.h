// Owns: which replica runs which request. Pure arithmetic.
// Must not own: admission queues or request content. Reference: behaviour 7.1 and 7.4.
//
// With AllGather every replica of the DP group walks the ring in step, so requests run in waves of
// at most DP; a surplus replica recomputes a real request and its result is dropped, which keeps
// the collective schedule equal on all ranks.
// Deviates from vLLM-Omni: without AllGather, replicas serve their own requests independently
// (request i on replica i mod DP) instead of computing each request on all of them.
#pragma once

#include <cstdint>
#include <vector>

namespace dlo::engine {

enum class Schedule : std::uint8_t { kIndependent, kWaves };

struct Assignment {
  std::uint32_t request = 0;
  bool answers = true;  // false: recomputed only to stay in step with the wave

  friend bool operator==(const Assignment&, const Assignment&) = default;
};

// Requests that replica `dp_rank` of `dp_size` runs, in order. With kWaves every replica gets the
// same number. Preconditions: 0 <= dp_rank < dp_size.
[[nodiscard]] std::vector<Assignment> assign_requests(std::uint32_t request_count,
                                                      Schedule schedule, int dp_rank, int dp_size);

}  // namespace dlo::engine
