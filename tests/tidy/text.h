// Small text helpers that the tidy rules share: lines, C++ without comments and literals, and the
// functions of a C++ file. Heuristics for code that clang-format has laid out, not a parser.
// Owns nothing; pure functions; nothing throws but for want of memory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy/source_tree.h"

namespace dlo::tidy {

[[nodiscard]] bool is_header(const SourceFile& file);
// A header or source of C++ or CUDA.
[[nodiscard]] bool is_cpp(const SourceFile& file);
[[nodiscard]] bool is_cmake(const SourceFile& file);

// Without the line ends; a last line without one counts.
[[nodiscard]] std::vector<std::string> split_lines(std::string_view text);
[[nodiscard]] std::string trim(std::string_view text);
// Runs of white space become one space.
[[nodiscard]] std::string collapse(std::string_view text);

// Same length and lines, with comments, strings and characters blanked.
[[nodiscard]] std::string code_only(std::string_view text);

struct FunctionSpan {
  int first_line = 0;  // of the signature
  int last_line = 0;   // of the closing brace
};
// Function definitions (tests too), not the lambdas and blocks inside them.
[[nodiscard]] std::vector<FunctionSpan> find_functions(std::string_view text);

}  // namespace dlo::tidy
