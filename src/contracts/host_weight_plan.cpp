#include "contracts/host_weight_plan.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace dlo::contracts {

namespace {

void check_binding(const std::string& name, const TensorBinding& binding) {
  const std::string subject = "plan: binding of '" + name + "' ";
  require(!binding.file_path.empty(), subject + "names no file");
  require(!binding.recipe.copies.empty(), subject + "copies nothing");
  const auto& copies = binding.recipe.copies;
  require(std::all_of(
              copies.begin(), copies.end(),
              [&](const BoxCopy& copy) { return copy.source_key == copies.front().source_key; }),
          subject + "reads several tensors");
  const auto filled = check_recipe(binding.recipe, binding.shape);
  require(filled.ok(), subject + "does not fill it");
  require(std::all_of(copies.begin(), copies.end(),
                      [&](const BoxCopy& copy) { return box_fits(copy.source, binding.shape); }),
          subject + "reads outside its tensor");
}

}  // namespace

HostWeightPlan::HostWeightPlan(HostWeightPlanParts parts) : parts_(std::move(parts)) {
  require(parts_.backing != Backing::kOrdinary, "plan: ordinary tensors need none");
  require(!parts_.bindings.empty(), "plan: there is no binding");
  if (parts_.backing == Backing::kCheckpointMmap) {
    require(parts_.layout_key.empty(), "plan: a checkpoint has no layout key");
    require(!parts_.post_load_complete, "plan: a checkpoint has not seen the post-load hook");
  }
  for (const auto& [name, binding] : parts_.bindings) {
    check_binding(name, binding);
  }
}

PlanHolder::PlanHolder(PlanHolder&& other) noexcept
    : plan_(std::exchange(other.plan_, std::nullopt)), used_(other.used_) {}

PlanHolder& PlanHolder::operator=(PlanHolder&& other) noexcept {
  plan_ = std::exchange(other.plan_, std::nullopt);
  used_ = other.used_;
  return *this;
}

void PlanHolder::put(HostWeightPlan plan) {
  require(!used_, "PlanHolder: a plan was put here before");
  used_ = true;
  plan_.emplace(std::move(plan));
}

void PlanHolder::require_plan() const {
  require(plan_.has_value(),
          used_ ? "PlanHolder: the plan was taken before" : "PlanHolder: the loader made no plan");
}

const HostWeightPlan& PlanHolder::peek() const {
  require_plan();
  return *plan_;
}

HostWeightPlan PlanHolder::take() {
  require_plan();
  HostWeightPlan plan = std::move(*plan_);
  plan_.reset();
  return plan;
}

}  // namespace dlo::contracts
