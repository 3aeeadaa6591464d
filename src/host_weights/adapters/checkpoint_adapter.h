// Owns: CheckpointAdapter, what is known about one model class's own loaders: which of them amount
// to copies that a mapped checkpoint can make, and with which recipe.
// Must not own: recipes themselves (contracts/row_recipes.h), files. Looked up by the class that a
// model names, never by a flag of a pipeline.
// Threading: immutable objects with static lifetime. Source: behaviour.md 2.4.
#pragma once

#include <optional>
#include <string_view>

#include "contracts/copy_recipe.h"
#include "contracts/load_rules.h"
#include "contracts/parameter_table.h"

namespace dlo::host_weights {

// How a tensor with a loader of its own comes from one checkpoint tensor.
struct AdapterPolicy {
  std::optional<contracts::CopyRecipe> recipe;  // none: a plain copy of the whole tensor
};

class CheckpointAdapter {
 public:
  virtual ~CheckpointAdapter() = default;

  // Empty when the loader of `tensor` does something that this adapter does not stand for.
  // Precondition: rules.needs_adapter(tensor.name).
  [[nodiscard]] virtual std::optional<AdapterPolicy> policy(
      const contracts::TensorSpec& tensor, const contracts::LoadRules& rules) const = 0;
};

// Null for a class without an adapter: its custom loaders need the ordinary loader.
[[nodiscard]] const CheckpointAdapter* find_adapter(std::string_view model_class);

}  // namespace dlo::host_weights
