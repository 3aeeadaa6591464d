#include "tests/mutants/exploration_proof.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "platform/cpu/thread_executor.h"
#include "platform/posix/steady_clock.h"

namespace dlo::test {

void expect_killed(const std::string& mutant, const engine::DeviceDecorator& decorate,
                   const std::optional<engine::SimulatedCase>& simulated) {
  platform::ThreadExecutor executor(2);
  const platform::SteadyClock clock;
  engine::ExploreRequest request;
  request.last_seed = kMutantSeedsMax;
  request.decorate = decorate;
  request.simulated = simulated;
  request.shrink = engine::Shrinking::kOff;
  const auto result = engine::explore(executor, clock, request);
  ASSERT_TRUE(result.failure.has_value())
      << mutant << " survived " << result.seeds_run << " seeds: a missing oracle or dead code";
  auto violation = result.failure->violation;
  violation = violation.substr(0, violation.find('\n'));
  const auto row = fmt::format("| {} | {} | {} |", mutant, result.failure->seed, violation);
  std::printf("%s\n", row.c_str());
  if (const char* path = std::getenv("DLO_MUTATION_TABLE"); path != nullptr) {
    std::ofstream(path, std::ios::app) << row << '\n';
  }
}

}  // namespace dlo::test
