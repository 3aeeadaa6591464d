#include "engine/simulation/fault_summary.h"

#include <algorithm>

namespace dlo::engine {

namespace {

constexpr std::size_t kProblemsMax = 5;

bool mentions(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

FaultSummary::FaultSummary() {
  for (const auto& site : platform::known_call_sites()) {
    sites[site] = {};
  }
}

bool FaultSummary::book(const SimulatedVerdict& verdict, const std::string& what) {
  std::uint64_t strikes = 0;
  bool finished = true;
  bool gave_up = false;
  for (const auto& rank : verdict.ranks) {
    strikes += rank.strike_count;
    finished = finished && rank.code.empty();
    gave_up = gave_up || rank.abandoned_buffers;
    for (const auto& [site, count] : rank.sites) {
      sites[site].reached += 1;
    }
    for (const auto& [site, code] : rank.strikes) {
      ++sites[site].injected[code];
    }
  }
  if (strikes == 0 && verdict.ok()) {
    return false;
  }
  injected += strikes;
  if (verdict.ok()) {
    ++(finished ? survived : ended_by_name);
    abandoned += gave_up ? 1U : 0U;
    return true;
  }
  const auto& violation = verdict.violation;
  // With faults a deadlock ends by deadlines: a rank that only left by its own is one that hung.
  if (mentions(violation, "ended with deadline_exceeded") || mentions(violation, "for ever")) {
    ++hung;
  } else if (mentions(violation, "wrong bytes")) {
    ++different_bytes;
  } else if (mentions(violation, "are left") || mentions(violation, "still has a place")) {
    ++leaked;
  } else {
    ++otherwise_wrong;
  }
  if (first_problems.size() < kProblemsMax) {
    first_problems.push_back(what + ": " + violation);
  }
  return true;
}

std::vector<std::string> FaultSummary::uncovered() const {
  std::vector<std::string> names;
  for (const auto& site : platform::known_call_sites()) {
    if (sites.at(site).injected.empty()) {
      names.push_back(site);
    }
  }
  return names;
}

std::vector<std::string> FaultSummary::unlisted() const {
  const auto& known = platform::known_call_sites();
  std::vector<std::string> names;
  for (const auto& [site, coverage] : sites) {
    if (std::find(known.begin(), known.end(), site) == known.end()) {
      names.push_back(site);
    }
  }
  return names;
}

std::uint64_t FaultSummary::injected_into(platform::SeamCall call) const {
  const auto prefix = platform::call_site(call, "");
  std::uint64_t count = 0;
  for (const auto& [site, coverage] : sites) {
    for (const auto& [code, injections] : coverage.injected) {
      count += site.starts_with(prefix) ? injections : 0;
    }
  }
  return count;
}

FaultSummary& FaultSummary::operator+=(const FaultSummary& other) {
  injected += other.injected;
  survived += other.survived;
  ended_by_name += other.ended_by_name;
  abandoned += other.abandoned;
  hung += other.hung;
  different_bytes += other.different_bytes;
  leaked += other.leaked;
  otherwise_wrong += other.otherwise_wrong;
  for (const auto& problem : other.first_problems) {
    if (first_problems.size() < kProblemsMax) {
      first_problems.push_back(problem);
    }
  }
  for (const auto& [site, coverage] : other.sites) {
    auto& mine = sites[site];
    mine.reached += coverage.reached;
    for (const auto& [code, count] : coverage.injected) {
      mine.injected[code] += count;
    }
  }
  return *this;
}

nlohmann::json summary_to_json(const FaultSummary& summary) {
  auto sites = nlohmann::json::object();
  for (const auto& [site, coverage] : summary.sites) {
    sites[site] = {{"reached", coverage.reached}, {"injected", coverage.injected}};
  }
  return nlohmann::json{{"injected", summary.injected},
                        {"survived", summary.survived},
                        {"ended_by_name", summary.ended_by_name},
                        {"abandoned", summary.abandoned},
                        {"hung", summary.hung},
                        {"different_bytes", summary.different_bytes},
                        {"leaked", summary.leaked},
                        {"otherwise_wrong", summary.otherwise_wrong},
                        {"first_problems", summary.first_problems},
                        {"sites", sites},
                        {"uncovered", summary.uncovered()},
                        {"unlisted", summary.unlisted()}};
}

}  // namespace dlo::engine
