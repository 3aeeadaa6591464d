// Owns: the comparison of computed with expected tensors: a table of absolute tolerances by name
// pattern, the largest error of each tensor, and a text that shows every one.
// Must not own: what is computed. The names in `expected` decide; one that was not computed is
// listed as not compared, and a comparison of nothing does not pass.
#pragma once

#include <string>
#include <vector>

#include "tests/golden/golden_tensors.h"

namespace dlo::golden {

// Absolute tolerance of the first pattern that matches; the last pattern matches every name.
[[nodiscard]] double tolerance_of(const std::string& name);

struct ComparedTensor {
  std::string name;
  double max_error = 0.0;  // NaN when any difference is
  double tolerance = 0.0;
  std::string problem;  // shape disagreement; empty otherwise

  [[nodiscard]] bool within() const { return problem.empty() && max_error <= tolerance; }
};

struct Comparison {
  std::vector<ComparedTensor> compared;
  std::vector<std::string> not_compared;

  [[nodiscard]] bool passed() const;
  // One line a tensor, those out of tolerance marked, then the names that were not compared.
  [[nodiscard]] std::string text() const;
};

// Root mean square of the differences as a share of the expected tensor's. Precondition: as many
// values in both.
[[nodiscard]] double relative_error(const GoldenTensor& expected, const GoldenTensor& computed);

[[nodiscard]] Comparison compare(const GoldenTensors& expected, const GoldenTensors& computed);

}  // namespace dlo::golden
