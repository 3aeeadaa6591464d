// Rules about the text of single files: sizes, opening comments, forbidden words, names of tests.
// Owns: the limits. Must not own: rules that look at several files together (tree_rules.h).
// Pure functions of a SourceTree; nothing throws but for want of memory.
#pragma once

#include "tests/tidy/source_tree.h"

namespace dlo::tidy {

// Lines over 100 columns, functions over 70 lines, files over 400 (600 in src/model).
[[nodiscard]] Violations check_sizes(const SourceTree& tree);
// Headers open with a comment of 2 to 15 lines and #pragma once; test files open with a comment.
[[nodiscard]] Violations check_opening_comments(const SourceTree& tree);
// Work markers, `using namespace` in headers, paths of one machine.
[[nodiscard]] Violations check_forbidden_words(const SourceTree& tree);
// Tests are named Subject, Condition_Outcome.
[[nodiscard]] Violations check_test_names(const SourceTree& tree);

}  // namespace dlo::tidy
