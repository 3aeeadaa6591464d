#include "config/validate.h"

#include "config/rules.h"

namespace dlo::config {

Validation validate(const OffloadOptions& options, const ParallelConfig& parallel,
                    const NeighbourOptions& neighbours) {
  const Configuration configuration{options, parallel, neighbours};
  Validation validation;
  for (const auto stage : {Stage::kConstruct, Stage::kNormalise, Stage::kEngine}) {
    validation.violations = check_stage(stage, configuration);
    if (!validation.ok()) {
      return validation;
    }
  }
  validation.config = normalise(options, parallel);
  return validation;
}

}  // namespace dlo::config
