// Owns: strict coverage: whether every parameter that a model expects from its sources was loaded.
// Must not own: loading (ordinary_loader.h) or zero-filling: a missing tensor is an error or a
// named tolerance, never a guess (no alias, no zeros). Threading: pure functions.
// Source: behaviour.md 2.5; public report vllm-omni #1728 (a tensor under another name stayed 0).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dlo::host_weights {

struct CoverageRequest {
  std::vector<std::string> parameters;       // runtime names of the whole model
  std::vector<std::string> source_prefixes;  // one a source; "" covers everything
  // Names that the loader filled; empty when it reports nothing, and the check is skipped then.
  std::optional<std::set<std::string>> reported;
  std::set<std::string> planned;  // bound to a mapped checkpoint instead of loaded
  bool quantized = false;         // a quantization configuration is in force
};

struct CoverageReport {
  bool checked = false;                // false: the loader reported nothing
  std::vector<std::string> tolerated;  // missing names that only deserve a warning, sorted
};

// Runtime names that the sources must fill: all of them when there is no source or one without
// prefix, otherwise those under a source's prefix.
[[nodiscard]] std::vector<std::string> expected_names(
    const std::vector<std::string>& parameters, const std::vector<std::string>& source_prefixes);

// Codes: missing_tensor, with the count and the first five names.
[[nodiscard]] Result<CoverageReport> check_coverage(const CoverageRequest& request);

// "'a', 'b', 'c', 'd', 'e' and 7 more": the first five of `names`.
[[nodiscard]] std::string first_names(const std::vector<std::string>& names);

}  // namespace dlo::host_weights
