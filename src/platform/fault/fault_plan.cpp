#include "platform/fault/fault_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/codes.h"
#include "base/nearest_name.h"

namespace dlo::platform {

namespace {

Refusal wrong(std::string what, std::string action) {
  return refuse(codes::kInvalidValue, std::move(what), "fault plan", std::move(action));
}

Result<SeamCall> call_from_name(const std::string& name) {
  std::vector<std::string_view> known;
  for (std::size_t i = 0; i < kSeamCallCount; ++i) {
    const auto call = static_cast<SeamCall>(i);
    if (seam_call_name(call) == name) {
      return call;
    }
    known.push_back(seam_call_name(call));
  }
  return wrong("no seam call is named '" + name + "'", suggest_name(name, known));
}

Status check_keys(const nlohmann::json& object, const std::vector<std::string_view>& known) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return refuse(codes::kUnknownOption, "unknown key '" + key + "'", "fault plan",
                    suggest_name(key, known));
    }
  }
  return {};
}

Result<FaultRule> rule_from_json(const nlohmann::json& json) {
  if (auto status =
          check_keys(json, {"call", "rank", "nth", "code", "armed_percent", "fires_percent"});
      !status.ok()) {
    return status.refusal();
  }
  auto call = call_from_name(json.at("call").get<std::string>());
  if (!call.ok()) {
    return call.refusal();
  }
  FaultRule rule;
  rule.call = *call;
  if (json.contains("rank")) {
    rule.rank = json.at("rank").get<int>();
  }
  rule.nth = json.value("nth", rule.nth);
  rule.code = json.value("code", rule.code);
  rule.armed_percent = json.value("armed_percent", rule.armed_percent);
  rule.fires_percent = json.value("fires_percent", rule.fires_percent);
  return rule;
}

}  // namespace

Result<FaultPlan> fault_plan_from_json(const nlohmann::json& json) {
  try {
    if (auto status = check_keys(json, {"seed", "rules"}); !status.ok()) {
      return status.refusal();
    }
    FaultPlan plan;
    plan.seed = json.value("seed", plan.seed);
    for (const auto& entry : json.at("rules")) {
      auto rule = rule_from_json(entry);
      if (!rule.ok()) {
        return rule.refusal();
      }
      plan.rules.push_back(*std::move(rule));
    }
    return plan;
  } catch (const nlohmann::json::exception& error) {
    return wrong(error.what(), "see scenarios/schema.json");
  }
}

nlohmann::json fault_plan_to_json(const FaultPlan& plan) {
  auto rules = nlohmann::json::array();
  for (const auto& rule : plan.rules) {
    nlohmann::json entry{{"call", seam_call_name(rule.call)},
                         {"nth", rule.nth},
                         {"code", rule.code},
                         {"armed_percent", rule.armed_percent},
                         {"fires_percent", rule.fires_percent}};
    if (rule.rank) {
      entry["rank"] = *rule.rank;
    }
    rules.push_back(std::move(entry));
  }
  return nlohmann::json{{"seed", plan.seed}, {"rules", rules}};
}

FaultInjector::FaultInjector(const FaultPlan& plan, int rank)
    : rank_(rank), random_(plan.seed ^ (static_cast<std::uint64_t>(rank + 1) << 48U)) {
  for (const auto& rule : plan.rules) {
    const bool concerns = !rule.rank || *rule.rank == rank;
    rules_.push_back({rule, concerns && random_.chance(rule.armed_percent)});
  }
}

std::optional<Refusal> FaultInjector::strike(SeamCall call, std::string_view purpose,
                                             std::string_view where) {
  const std::lock_guard lock(mutex_);
  const auto count = ++calls_[static_cast<std::size_t>(call)];
  const std::string site = call_site(call, purpose);
  ++sites_[site];
  for (const auto& [rule, armed] : rules_) {
    if (!armed || rule.call != call) {
      continue;
    }
    const bool hit = rule.nth == 0 ? random_.chance(rule.fires_percent) : rule.nth == count;
    if (hit) {
      const std::string code(rule.code.empty() ? natural_code(call) : rule.code);
      strikes_.emplace_back(site, code);
      return refuse(code,
                    fmt::format("injected fault in call {} of {}", count, seam_call_name(call)),
                    fmt::format("rank {}, {}", rank_, where.empty() ? purpose : where),
                    "this failure was asked for");
    }
  }
  return std::nullopt;
}

std::uint64_t FaultInjector::call_count(SeamCall call) const {
  const std::lock_guard lock(mutex_);
  return calls_[static_cast<std::size_t>(call)];
}

std::uint64_t FaultInjector::strike_count() const {
  const std::lock_guard lock(mutex_);
  return strikes_.size();
}

std::string FaultInjector::first_code() const {
  const std::lock_guard lock(mutex_);
  return strikes_.empty() ? "" : strikes_.front().second;
}

std::string FaultInjector::first_site() const {
  const std::lock_guard lock(mutex_);
  return strikes_.empty() ? "" : strikes_.front().first;
}

std::vector<std::pair<std::string, std::string>> FaultInjector::strikes() const {
  const std::lock_guard lock(mutex_);
  return strikes_;
}

std::map<std::string, std::uint64_t> FaultInjector::sites() const {
  const std::lock_guard lock(mutex_);
  return sites_;
}

}  // namespace dlo::platform
