#include "engine/throughput_rules.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "base/codes.h"
#include "config/validate.h"

namespace dlo::engine {

namespace {

// Each arm has a device of its own, whose books begin with the whole budget, and torch's allocator,
// which arms share, keeps the limit of the last one.
void refuse_budget(const std::optional<std::uint64_t>& budget, const std::string& field,
                   std::vector<Refusal>& refusals) {
  if (budget) {
    refusals.push_back(refuse(
        codes::kInvalidValue,
        fmt::format("a budget of {} bytes does not hold for arms that live in one process",
                    *budget),
        field,
        fmt::format("leave {} out, or serve requests: without measure_forwards it holds", field)));
  }
}

}  // namespace

std::vector<Refusal> refuse_arms(const RunRequest& request) {
  std::vector<Refusal> refusals;
  const auto& spec = *request.throughput;
  if (spec.arms.empty() || spec.rounds == 0 || spec.forwards == 0) {
    refusals.push_back(refuse(codes::kInvalidValue, "a throughput run without arms or forwards",
                              "measure_forwards", "give at least one arm, round and forward"));
  }
  if (request.requests.has_prompt()) {
    refusals.push_back(refuse(codes::kInvalidValue,
                              "forwards that are timed one by one take no prompt",
                              "requests.prompt_tokens", "leave prompt_tokens out"));
  }
  refuse_budget(request.platform.device_budget_bytes, "platform.device_budget_bytes", refusals);
  refuse_budget(request.platform.pinned_budget_bytes, "platform.pinned_budget_bytes", refusals);
  for (const auto& arm : spec.arms) {
    auto validation = config::validate(arm.options, request.parallel);
    for (auto& violation : validation.violations) {
      violation.where = fmt::format("arm {}: {}", arm.name, violation.where);
      refusals.push_back(std::move(violation));
    }
  }
  return refusals;
}

}  // namespace dlo::engine
