// Owns: the list of tensors of a WanTransformer3DModel as pure data: checkpoint key, shape, the
// distribution of seeded values, and which ones diffusers keeps in fp32.
// Must not own: values or files (seeded_checkpoint.h); the model builds its own modules and tests
// compare them with this list. Threading: pure functions. Source: models.md 4.1 and 7.
#pragma once

#include <vector>

#include "host_weights/seeded_checkpoint/seeded_tensors.h"
#include "host_weights/seeded_checkpoint/wan_shape.h"

namespace dlo::host_weights {

// All tensors in the class's registration order.
[[nodiscard]] std::vector<SeededTensor> wan_tensors(const WanShape& shape);

}  // namespace dlo::host_weights
