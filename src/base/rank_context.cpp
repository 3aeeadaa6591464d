#include "base/rank_context.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>

namespace dlo {

RankContext make_rank_context(int rank, int world_size, FailureSignal& signal) {
  auto log = std::make_shared<spdlog::logger>(fmt::format("rank {}", rank),
                                              std::make_shared<spdlog::sinks::stderr_sink_mt>());
  log->set_pattern("[%n] %l: %v");
  log->set_level(spdlog::level::warn);
  return RankContext{rank, world_size, &signal, std::move(log)};
}

}  // namespace dlo
