// Owns: validate(), the way from options to their normal form: construct rules, normalisation,
// engine rules, in this order; the first stage with a violated rule ends it with all of them.
// Must not own: the rules (config/rules.h), factory and loader facts that only exist later.
#pragma once

#include <vector>

#include "base/refusal.h"
#include "config/neighbour_options.h"
#include "config/offload_config.h"
#include "config/offload_options.h"
#include "config/parallel_config.h"

namespace dlo::config {

struct Validation {
  OffloadConfig config;             // meaningful when ok()
  std::vector<Refusal> violations;  // all of the first stage that has any, sorted by code

  [[nodiscard]] bool ok() const { return violations.empty(); }
};

[[nodiscard]] Validation validate(const OffloadOptions& options, const ParallelConfig& parallel,
                                  const NeighbourOptions& neighbours = {});

}  // namespace dlo::config
