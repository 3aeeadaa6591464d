// Owns: expansion of a scenario document with a matrix into one document an instance, with its name
// and its values put in place and the sizes of the topology filled in.
// Must not own: the meaning of a document (scenario.h), or which instances fit a world (runner.h).
// Pure: order follows the order of the axes, the last one varying fastest.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "harness/json.h"

namespace dlo::harness {

// A document without a matrix, and the name that tells it from its siblings.
struct MatrixInstance {
  std::string name;  // "wan_cpu_modes/dp2/all_gather/whole/depth1"
  Json document;
};

// A matrix above this is a mistake in the file.
inline constexpr std::size_t kMatrixInstancesMax = 10000;

// `document` follows the schema. Axes that do not concern an instance (chunks and depth of a
// resident run) are left out of it, and instances that became equal are one.
// Codes: unknown_option (an axis that names no place), invalid_value (too many instances).
[[nodiscard]] Result<std::vector<MatrixInstance>> expand_matrix(const Json& document,
                                                                const std::string& where);

}  // namespace dlo::harness
