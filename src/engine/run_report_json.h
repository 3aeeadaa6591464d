// Owns: the JSON form of what ranks tell each other about a run: requests (for the agreement
// digest) and rank reports (sent to rank 0; the harness writes the same form into results.json).
// Must not own: the results file around it (harness).
#pragma once

#include <string>

#include "base/json.h"
#include "engine/run_report.h"

namespace dlo::engine {

[[nodiscard]] std::string_view outcome_name(Outcome outcome);  // "runs", "rejected", ...

[[nodiscard]] nlohmann::json request_to_json(const RunRequest& request);
[[nodiscard]] nlohmann::json rank_report_to_json(const RankReport& report);
// Inverse of rank_report_to_json. Throws nlohmann's exception on another form: ranks run the same
// binary, so that is a bug.
[[nodiscard]] RankReport rank_report_from_json(const nlohmann::json& json);

// {"before": {"descriptors": 12, ...}, "after": {...}}, and "new": {"descriptors": ["/out/a"]} when
// something with a name has grown; null for none.
[[nodiscard]] nlohmann::json resources_to_json(const std::optional<ResourceChange>& change);
[[nodiscard]] std::optional<ResourceChange> resources_from_json(const nlohmann::json& object);

[[nodiscard]] nlohmann::json effective_to_json(const contracts::EffectiveTransfer& effective);

}  // namespace dlo::engine
