// Owns: FaultPlan, which calls of the seams fail with which code, as data, and FaultInjector, one
// rank's counters that say when a rule strikes.
// Must not own: the decorators that act on it (faulting_device.h, comm/fault).
// Two ways, as FoundationDB's BUGGIFY: an exact rule (the n-th call of an operation), or two
// probabilities: a rule is armed for a run, and an armed rule fires on a call.
// Threading: an injector is one rank's; any thread of that rank may call it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/seeded_random.h"
#include "platform/fault/seam_calls.h"

namespace dlo::platform {

struct FaultRule {
  SeamCall call = SeamCall::kAllocatePinned;
  std::optional<int> rank;  // none: any rank
  std::uint64_t nth = 0;    // 1: the first call; 0: any call, by `fires_percent`
  std::string code;         // empty: natural_code(call)
  std::uint32_t armed_percent = 100;
  std::uint32_t fires_percent = 100;
};

struct FaultPlan {
  std::vector<FaultRule> rules;
  std::uint64_t seed = 1;
};

// {"seed": 1, "rules": [{"call": "allocate_pinned", "rank": 1, "nth": 1, "code": "pin_failed"}]}.
// Codes: unknown_option with the nearest name, invalid_value.
[[nodiscard]] Result<FaultPlan> fault_plan_from_json(const nlohmann::json& json);
[[nodiscard]] nlohmann::json fault_plan_to_json(const FaultPlan& plan);

class FaultInjector {
 public:
  // `plan` outlives the injector.
  FaultInjector(const FaultPlan& plan, int rank);

  // Counts a call and says whether it fails, and how. `purpose` makes it a call site
  // (seam_calls.h), `where` is for people; empty: the purpose.
  [[nodiscard]] std::optional<Refusal> strike(SeamCall call, std::string_view purpose,
                                              std::string_view where = {});

  // False when no call can ever fail here.
  [[nodiscard]] bool has_rules() const { return !rules_.empty(); }

  [[nodiscard]] std::uint64_t call_count(SeamCall call) const;
  // How often a rule struck, and the code of the first.
  [[nodiscard]] std::uint64_t strike_count() const;
  [[nodiscard]] std::string first_code() const;
  // The call site that the first one struck; empty: none.
  [[nodiscard]] std::string first_site() const;
  // Every strike in order: call site and code.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> strikes() const;
  // Calls by call site.
  [[nodiscard]] std::map<std::string, std::uint64_t> sites() const;

 private:
  struct ArmedRule {
    FaultRule rule;
    bool armed = false;
  };

  int rank_;
  mutable std::mutex mutex_;  // guards what follows
  SeededRandom random_;
  std::vector<ArmedRule> rules_;
  std::array<std::uint64_t, kSeamCallCount> calls_{};
  std::map<std::string, std::uint64_t> sites_;
  std::vector<std::pair<std::string, std::string>> strikes_;
};

}  // namespace dlo::platform
