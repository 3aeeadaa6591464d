// Owns: the plan of an ordinary load: which box of which file goes where in which tensor, in the
// order of files, with everything checked that can be checked without reading tensor bytes.
// Must not own: memory or copying (ordinary_loader.h). Threading: pure function.
// Failure: refusals in the order of ordinary_loader.h.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "host_weights/ordinary_loader.h"

namespace dlo::host_weights {

// One tensor to load.
struct LoadItem {
  const contracts::TensorSpec* spec = nullptr;
  contracts::CopyRecipe recipe;
  std::vector<const SourceTensor*> sources;  // one a copy of the recipe
  bool identity = false;                     // the stored tensor as a whole
  std::size_t source_index = 0;              // into LoadRequest::sources
};

struct LoadPlan {
  std::vector<LoadItem> items;  // by source, file in natural order, place in the file
  std::vector<std::string> tolerated;
  std::vector<std::string> unused;
};

// `opened` has one entry a source of the request and outlives the plan.
[[nodiscard]] Result<LoadPlan> plan_load(const LoadRequest& request,
                                         const std::vector<SourceTensors>& opened);

}  // namespace dlo::host_weights
