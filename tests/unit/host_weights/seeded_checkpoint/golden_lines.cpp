#include "tests/unit/host_weights/seeded_checkpoint/golden_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>

namespace dlo::host_weights {

std::vector<std::string> golden_lines(const std::string& name) {
  std::ifstream file(std::string(DLO_GOLDEN_ROOT) + "/names/" + name);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> lines_of(const std::vector<SeededTensor>& tensors, StoredDType stored) {
  std::vector<std::string> lines;
  for (const auto& tensor : tensors) {
    lines.push_back(fmt::format("{}\t{}\t[{}]", tensor.name,
                                dtype_name(stored_tensor_dtype(tensor, stored)),
                                fmt::join(tensor.shape, ",")));
  }
  return lines;
}

}  // namespace dlo::host_weights
