// Owns: lists of tensors as lines `name TAB dtype TAB [a,b]`: of the golden fixtures, and of
// tensors that are made from a seed. Must not own: expectations.
#pragma once

#include <string>
#include <vector>

#include "host_weights/seeded_checkpoint/seeded_tensors.h"

namespace dlo::host_weights {

// `name` lies in the folder names of the golden fixtures.
[[nodiscard]] std::vector<std::string> golden_lines(const std::string& name);

[[nodiscard]] std::vector<std::string> lines_of(const std::vector<SeededTensor>& tensors,
                                                StoredDType stored);

}  // namespace dlo::host_weights
