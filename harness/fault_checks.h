// Owns: what a run that failed closed must still show: every rank that shares weights with a failed
// one ended with that one code, every other rank did its work with the reference's bytes, and the
// planned fault was met; and what any run with faults must show: nothing has leaked.
// Must not own: the outcome itself (expectations.h). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/run_report.h"
#include "harness/expectations.h"
#include "harness/scenario.h"

namespace dlo::harness {

// One sentence a finding. `report` is of kFailsClosed and has every rank's row.
[[nodiscard]] std::vector<std::string> check_endings(const Scenario& scenario,
                                                     const engine::RunReport& report,
                                                     const std::optional<Reference>& reference);

// What every finding about something that a run did not give back says.
inline constexpr std::string_view kLeaked = "leaked";

// One sentence for each figure of `rank` that has grown over the run, or one that nobody counted.
// Memory that disable() gave up on purpose, under a stream that was still busy, is no leak when the
// rank ended by name.
[[nodiscard]] std::vector<std::string> check_leaks(const engine::RankReport& rank);

// What every finding about bytes says.
inline constexpr std::string_view kBytesDiffer = "output bytes";

// Digests of one request differ, or one is missing in `wanted`.
[[nodiscard]] std::vector<std::string> compare_outputs(
    int rank, const std::vector<engine::RequestDigest>& outputs,
    const std::vector<engine::RequestDigest>& wanted);

}  // namespace dlo::harness
