// Owns: HostWeightPlan, the proof that a checkpoint can back the host side as it lies on disk: one
// binding a runtime tensor, and what the loader may skip. PlanHolder hands it over exactly once.
// Must not own: files or mappings (host_weights/mapped_tensors.h), or the proof itself
// (host_weights/preflight.h). Immutable plain values; whoever has the plan never looks for
// checkpoint files or names again.
// Failure: a plan that breaks its invariants, and a second take, are LogicErrors.
// Source: behaviour.md 3.1 to 3.3; reference "The loader owns host-weight planning".
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/tensor_view.h"
#include "contracts/copy_recipe.h"
#include "contracts/effective_transfer.h"

namespace dlo::contracts {

// Where one runtime tensor lies: boxes of one tensor of one file.
struct TensorBinding {
  std::filesystem::path file_path;
  DType dtype = DType::kF32;  // of the stored and of the runtime tensor
  Shape shape;                // of both too
  CopyRecipe recipe;          // source keys as they stand in the file

  // The one key that every copy of the recipe reads.
  [[nodiscard]] const std::string& source_key() const { return recipe.copies.front().source_key; }
};

// What a plan is made of.
struct HostWeightPlanParts {
  Backing backing = Backing::kCheckpointMmap;
  std::map<std::string, TensorBinding> bindings;  // by runtime name
  std::set<std::string> planned_source_prefixes;  // sources that need no ordinary loading
  std::string layout_key;                         // of a cache entry; empty for a checkpoint
  bool post_load_complete = false;                // the bytes are final; false for a checkpoint
};

class HostWeightPlan {
 public:
  // Throws LogicError when `parts` break an invariant: a mapped backing, at least one binding,
  // every binding with a file and with a recipe that fills its shape from inside one key's tensor;
  // of a checkpoint, no layout key and post-load still to come.
  explicit HostWeightPlan(HostWeightPlanParts parts);
  HostWeightPlan(HostWeightPlan&&) = default;
  HostWeightPlan& operator=(HostWeightPlan&&) = default;
  HostWeightPlan(const HostWeightPlan&) = delete;
  HostWeightPlan& operator=(const HostWeightPlan&) = delete;
  ~HostWeightPlan() = default;

  [[nodiscard]] Backing backing() const { return parts_.backing; }
  [[nodiscard]] const std::map<std::string, TensorBinding>& bindings() const {
    return parts_.bindings;
  }
  [[nodiscard]] const std::set<std::string>& planned_source_prefixes() const {
    return parts_.planned_source_prefixes;
  }
  [[nodiscard]] const std::string& layout_key() const { return parts_.layout_key; }
  [[nodiscard]] bool post_load_complete() const { return parts_.post_load_complete; }

 private:
  HostWeightPlanParts parts_;
};

// A place for one plan on its way from the loader to its consumer. Launching thread.
// Deviates from vLLM-Omni: a plan is taken exactly once; a second take is an error instead of
// nothing.
class PlanHolder {
 public:
  PlanHolder() = default;
  // The plan goes along; `other` is as after a take().
  PlanHolder(PlanHolder&& other) noexcept;
  PlanHolder& operator=(PlanHolder&& other) noexcept;
  PlanHolder(const PlanHolder&) = delete;
  PlanHolder& operator=(const PlanHolder&) = delete;
  ~PlanHolder() = default;

  // Throws LogicError when there was a plan before, taken or not.
  void put(HostWeightPlan plan);
  // True between put() and take().
  [[nodiscard]] bool holds_plan() const { return plan_.has_value(); }
  // For the loader, which skips what the plan covers. Throws LogicError when there is none.
  [[nodiscard]] const HostWeightPlan& peek() const;
  // Throws LogicError when there is no plan (any more): two consumers would both trust it.
  [[nodiscard]] HostWeightPlan take();

 private:
  void require_plan() const;

  std::optional<HostWeightPlan> plan_;
  bool used_ = false;
};

}  // namespace dlo::contracts
