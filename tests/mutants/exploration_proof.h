// Owns: how a mutant is put to exploration, and the row that it leaves in the mutation table.
// Must not own: the mutants. DLO_MUTATION_TABLE names a file to which rows are appended as
// Markdown; without it rows only show in the test's output.
#pragma once

#include <optional>
#include <string>

#include "engine/simulation/exploration.h"

namespace dlo::test {

// Seeds that every mutant must be found within; CI's bound and the report's.
inline constexpr std::uint64_t kMutantSeedsMax = 3000;

// Explores from seed 1 and expects a violation within kMutantSeedsMax seeds; books the row.
// `simulated`: the case of every seed; none: cases are drawn.
void expect_killed(const std::string& mutant, const engine::DeviceDecorator& decorate,
                   const std::optional<engine::SimulatedCase>& simulated = {});

}  // namespace dlo::test
