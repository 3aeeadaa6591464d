#include "engine/throughput_rules.h"

#include <fmt/format.h>

#include <utility>

#include "base/codes.h"
#include "config/validate.h"

namespace dlo::engine {

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
