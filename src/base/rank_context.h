// Owns: RankContext, what is per rank: its numbers, its failure signal and its logger.
// Must not own: devices or communicators (the engine passes those beside it). Ranks may share a
// process as threads, so nothing per rank is a singleton.
#pragma once

#include <spdlog/logger.h>

#include <memory>

#include "base/failure_signal.h"

namespace dlo {

struct RankContext {
  int rank = 0;                             // world rank
  int world_size = 1;                       // ranks in the world
  FailureSignal* failure_signal = nullptr;  // never null after construction by the engine
  std::shared_ptr<spdlog::logger> log;      // never null after construction by the engine
};

// A context whose log lines carry the rank and go to standard error.
[[nodiscard]] RankContext make_rank_context(int rank, int world_size, FailureSignal& signal);

}  // namespace dlo
