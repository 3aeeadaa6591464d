#include "backend/placement_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/codes.h"

namespace dlo::backend {

namespace {

constexpr std::size_t kNamesShown = 10;

void count_places(const BlockPlacement& block, std::map<std::string, int>& places) {
  for (const auto& entry : block.layout.entries()) {
    ++places[block.spec->tensors.at(entry.tensor_index).name];
  }
}

void append_problem(std::string& text, std::string_view what, std::vector<std::string> names) {
  if (names.empty()) {
    return;
  }
  const auto total = names.size();
  names.resize(std::min(total, kNamesShown));
  text += fmt::format("{}{} {}: {}{}", text.empty() ? "" : "; ", total, what,
                      fmt::join(names, ", "), total > kNamesShown ? ", ..." : "");
}

std::uint64_t block_bytes(const DitPlacement& placement) {
  std::uint64_t bytes = 0;
  for (const auto& block : placement.blocks) {
    bytes += block.layout.bytes();
  }
  return bytes;
}

// Small non-block children stay on the device.
bool worth_streaming(const contracts::DitSpec& dit, const DitPlacement& placement,
                     const PlacementRules& rules) {
  if (dit.parent.empty()) {
    return true;
  }
  const auto child = dit.name.substr(dit.name.rfind('.') + 1);
  return block_bytes(placement) > kSubmoduleStreamBytes ||
         rules.offload_plan.offload_submodules.contains(child);
}

void settle(const contracts::DitSpec& dit, const PlacementRules& rules, DitPlacement& placement) {
  auto& blocks = placement.blocks;
  if (!rules.stream || blocks.size() < 2 || !worth_streaming(dit, placement, rules)) {
    return;
  }
  const bool eligible = rules.offload_plan.resident_dit_paths.contains(dit.name);
  std::size_t leading = eligible ? std::min<std::size_t>(rules.resident_layers, blocks.size()) : 0;
  leading = blocks.size() - leading == 1 ? blocks.size() : leading;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    blocks[b].residency = b < leading ? Residency::kStageResident : Residency::kStreamed;
  }
}

}  // namespace

std::uint32_t DitPlacement::leading_count() const {
  return static_cast<std::uint32_t>(std::count_if(
      blocks.begin(), blocks.end(),
      [](const BlockPlacement& block) { return block.residency == Residency::kStageResident; }));
}

std::uint32_t PlacementPlan::block_count(Residency residency) const {
  std::uint32_t count = 0;
  for (const auto& dit : dits) {
    for (const auto& block : dit.blocks) {
      count += block.residency == residency ? 1U : 0U;
    }
  }
  return count;
}

PlacementPlan plan_placement(const contracts::ParameterTable& table, const PlacementRules& rules) {
  PlacementPlan plan;
  for (const auto& dit : table.dits) {
    DitPlacement placement{dit.name,
                           dit.parent,
                           {},
                           BlockPlacement{&dit.non_block, Residency::kResident,
                                          contracts::BlockLayout(dit.non_block)}};
    for (const auto& block : dit.blocks) {
      placement.blocks.push_back(
          BlockPlacement{&block, Residency::kResident, contracts::BlockLayout(block)});
    }
    settle(dit, rules, placement);
    plan.dits.push_back(std::move(placement));
  }
  return plan;
}

Status check_coverage(const contracts::ParameterTable& table, const PlacementPlan& plan) {
  std::map<std::string, int> places;
  for (const auto* tensor : table.tensors()) {
    places.emplace(tensor->name, 0);
  }
  const auto wanted = places.size();
  for (const auto& dit : plan.dits) {
    for (const auto& block : dit.blocks) {
      count_places(block, places);
    }
    count_places(dit.non_block, places);
  }
  std::vector<std::string> missing;
  std::vector<std::string> twice;
  for (const auto& [name, count] : places) {
    if (count == 0) {
      missing.push_back(name);
    } else if (count > 1) {
      twice.push_back(name);
    }
  }
  std::string text;
  append_problem(text, "tensors are neither streamed nor resident", std::move(missing));
  append_problem(text, "tensors have two places", std::move(twice));
  if (places.size() != wanted) {
    append_problem(text, "places belong to no tensor of the model",
                   {std::to_string(places.size() - wanted)});
  }
  if (text.empty()) {
    return {};
  }
  return refuse(codes::kPlacementInvalid, text, "block discovery",
                "correct the model's parameter table");
}

}  // namespace dlo::backend
