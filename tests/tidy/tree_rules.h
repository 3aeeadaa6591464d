// Rules that look at several files together: what is listed where, and tables that must agree.
// Owns: the agreed top level, the invariants with the place of their subject, the packages with
// the target that links them. Must not own: rules about one file's text (text_rules.h).
// Pure functions of a SourceTree; nothing throws but for want of memory.
#pragma once

#include "tests/tidy/source_tree.h"

namespace dlo::tidy {

// A source that no CMake list names, a header that no file includes.
[[nodiscard]] Violations check_listed(const SourceTree& tree);
// A top-level entry outside the agreed set.
[[nodiscard]] Violations check_top_level(const SourceTree& tree);
// A scenario (or its schema) that is not JSON.
[[nodiscard]] Violations check_scenarios(const SourceTree& tree);
// A library of scripts/setup that no CMake list links.
[[nodiscard]] Violations check_setup_libraries(const SourceTree& tree);
// README's table of invariants: a row each, and every named test exists. An invariant whose
// subject exists names at least one.
[[nodiscard]] Violations check_invariants(const SourceTree& tree);
// The marks in the code and the list in the README are the same sentences.
[[nodiscard]] Violations check_deviations(const SourceTree& tree);

}  // namespace dlo::tidy
