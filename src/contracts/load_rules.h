// Owns: LoadRules, what a model says about loading beyond "each tensor is its own checkpoint key":
// its class, the recipes of tensors that are put together, and the names whose loader does more
// than a copy.
// Must not own: files, or whether a checkpoint may be mapped (host_weights/preflight.h).
// A plain value; a model without such tensors leaves it empty but for the class.
#pragma once

#include <map>
#include <set>
#include <string>

#include "contracts/copy_recipe.h"

namespace dlo::contracts {

struct LoadRules {
  // "WanTransformer3DModel": by it the loader looks up an adapter.
  std::string model_class;
  // By runtime name; source keys are without the source's prefix. Every other tensor is the
  // checkpoint tensor of its own name, as a whole.
  std::map<std::string, CopyRecipe> recipes;
  // Runtime names with a loader of their own. A tensor named here or in `recipes` is mapped only
  // when an adapter of the class allows it.
  std::set<std::string> custom_loaders;

  [[nodiscard]] bool needs_adapter(const std::string& name) const {
    return custom_loaders.contains(name) || recipes.contains(name);
  }
};

}  // namespace dlo::contracts
