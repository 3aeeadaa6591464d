#include "telemetry/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/json.h"

namespace dlo::telemetry {

namespace {

// The block number that a name mentions ("... block 12 ..."), as one character.
char block_letter(const std::string& name) {
  constexpr std::string_view kWord = "block ";
  constexpr std::string_view kLetters = "0123456789abcdefghijklmnopqrstuvwxyz";
  const auto at = name.find(kWord);
  if (at == std::string::npos) {
    return '*';
  }
  std::size_t number = 0;
  for (auto i = at + kWord.size(); i < name.size() && name[i] >= '0' && name[i] <= '9'; ++i) {
    number = number * 10 + static_cast<std::size_t>(name[i] - '0');
  }
  return kLetters[number % kLetters.size()];
}

}  // namespace

std::string Timeline::ascii(std::size_t columns) const {
  Nanoseconds begin = 0;
  Nanoseconds end = 1;
  for (const auto& row : rows) {
    begin = row.begin < begin || &row == rows.data() ? row.begin : begin;
    end = std::max(end, row.end);
  }
  const auto column_of = [&](Nanoseconds at) {
    const double share = static_cast<double>(at - begin) / static_cast<double>(end - begin);
    return std::min(columns - 1, static_cast<std::size_t>(share * static_cast<double>(columns)));
  };
  std::map<std::pair<int, std::string>, std::string> lanes;
  for (const auto& row : rows) {
    auto& cells = lanes.try_emplace({row.rank, row.lane}, columns, '.').first->second;
    if (row.end == row.begin) {
      continue;
    }
    for (auto c = column_of(row.begin); c <= column_of(row.end - 1); ++c) {
      cells[c] = block_letter(row.name);
    }
  }
  std::string text = fmt::format("{} ns from left to right\n", end - begin);
  for (const auto& [lane, cells] : lanes) {
    text += fmt::format("rank {} {:<8} {}\n", lane.first, lane.second, cells);
  }
  return text;
}

std::string Timeline::perfetto_json() const {
  auto events = nlohmann::json::array();
  for (const auto& row : rows) {
    events.push_back({{"name", row.name},
                      {"ph", "X"},
                      {"ts", static_cast<double>(row.begin) / 1000.0},
                      {"dur", static_cast<double>(row.end - row.begin) / 1000.0},
                      {"pid", row.rank},
                      {"tid", row.lane}});
  }
  return nlohmann::json{{"traceEvents", events}, {"displayTimeUnit", "ns"}}.dump(1);
}

}  // namespace dlo::telemetry
