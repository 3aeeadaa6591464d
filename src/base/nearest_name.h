// Owns: the search for the known name closest to a misspelt one (Levenshtein distance).
// Must not own: the error message around it.
// Pure functions; on a tie the first known name wins.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dlo {

// The nearest of `known`, or an empty string when none is within half of the longer name's length.
[[nodiscard]] std::string nearest_name(std::string_view name,
                                       std::span<const std::string_view> known);

// "did you mean 'x'?" or, when nothing is near, "known names: a, b, c".
[[nodiscard]] std::string suggest_name(std::string_view name,
                                       std::span<const std::string_view> known);

}  // namespace dlo
