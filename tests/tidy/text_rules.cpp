#include "tests/tidy/text_rules.h"

#include <algorithm>
#include <cstddef>
#include <regex>
#include <string>
#include <vector>

#include "tests/tidy/text.h"

namespace dlo::tidy {
namespace {

constexpr std::size_t kMaxColumns = 100;
constexpr int kMaxFunctionLines = 70;
constexpr std::size_t kMaxFileLines = 400;
constexpr std::size_t kMaxModelFileLines = 600;  // a model family reads best in one piece
constexpr std::size_t kMinHeaderComment = 2;
constexpr std::size_t kMaxHeaderComment = 15;  // a drawing needs room

bool is_script(const SourceFile& file) {
  return file.path.starts_with("scripts/") || file.path.starts_with(".ci/");
}

// Columns, not bytes: continuation bytes of UTF-8 take no room.
std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::size_t opening_comment_lines(const std::vector<std::string>& lines) {
  const auto end = std::find_if(lines.begin(), lines.end(),
                                [](const std::string& line) { return !line.starts_with("//"); });
  return static_cast<std::size_t>(end - lines.begin());
}

void check_function_sizes(const SourceFile& file, Violations& violations) {
  for (const FunctionSpan& span : find_functions(file.text)) {
    const int lines = span.last_line - span.first_line + 1;
    if (lines > kMaxFunctionLines) {
      violations.push_back(
          {file.path, span.first_line, "function of " + std::to_string(lines) + " lines"});
    }
  }
}

}  // namespace

Violations check_sizes(const SourceTree& tree) {
  Violations violations;
  for (const SourceFile& file : tree.files()) {
    if (!is_cpp(file) && !is_cmake(file) && !is_script(file)) {
      continue;
    }
    const std::vector<std::string> lines = split_lines(file.text);
    const bool model = file.path.starts_with("src/model/");
    if (lines.size() > (model ? kMaxModelFileLines : kMaxFileLines)) {
      violations.push_back({file.path, 0, "file of " + std::to_string(lines.size()) + " lines"});
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (columns(lines[i]) > kMaxColumns) {
        violations.push_back({file.path, static_cast<int>(i) + 1, "line over 100 columns"});
      }
    }
    if (is_cpp(file)) {
      check_function_sizes(file, violations);
    }
  }
  return violations;
}

Violations check_opening_comments(const SourceTree& tree) {
  Violations violations;
  for (const SourceFile& file : tree.files()) {
    const std::vector<std::string> lines = split_lines(file.text);
    const std::size_t comment = opening_comment_lines(lines);
    if (is_header(file)) {
      if (comment < kMinHeaderComment || comment > kMaxHeaderComment) {
        violations.push_back({file.path, 1,
                              "opening comment of " + std::to_string(comment) +
                                  " lines; a header opens with 2 to 15 lines"});
      }
      if (file.text.find("#pragma once") == std::string::npos) {
        violations.push_back({file.path, 0, "header without #pragma once"});
      }
    } else if (is_cpp(file) && file.path.starts_with("tests/") &&
               file.path.ends_with("_test.cpp") && comment == 0) {
      violations.push_back({file.path, 1, "a test file opens with its goal and method"});
    }
  }
  return violations;
}

Violations check_forbidden_words(const SourceTree& tree) {
  // Spelled in pieces, for this file is checked too.
  static const std::regex marker(
      "\\b(TO"
      "DO|FIX"
      "ME|XX"
      "X)\\b");
  static const std::regex machine(
      "(^|[^\\w.])/(wor"
      "k|hom"
      "e|roo"
      "t)/|/tmp/dlo_"
      "notes");
  static const std::regex using_namespace(R"(^\s*using\s+namespace\b)");
  Violations violations;
  for (const SourceFile& file : tree.files()) {
    int number = 0;
    for (const std::string& line : split_lines(file.text)) {
      ++number;
      if (std::regex_search(line, marker)) {
        violations.push_back({file.path, number, "a work marker; finish it or file an issue"});
      }
      if (std::regex_search(line, machine)) {
        violations.push_back({file.path, number, "a path of one machine"});
      }
      if (is_header(file) && std::regex_search(line, using_namespace)) {
        violations.push_back({file.path, number, "using namespace in a header"});
      }
    }
  }
  return violations;
}

Violations check_test_names(const SourceTree& tree) {
  static const std::regex test(
      R"(^\s*(TEST|TEST_F|TEST_P|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\s*\(\s*(\w+)\s*,\s*(\w+))",
      std::regex::multiline);
  static const std::regex suite_name(R"([A-Z][A-Za-z0-9]*)");
  static const std::regex test_name(R"([A-Z0-9][A-Za-z0-9]*(_[A-Z0-9][A-Za-z0-9]*)+)");
  Violations violations;
  for (const SourceFile& file : tree.files()) {
    if (!is_cpp(file)) {
      continue;
    }
    const std::string code = code_only(file.text);
    for (std::sregex_iterator it(code.begin(), code.end(), test), end; it != end; ++it) {
      const std::string suite = (*it)[2].str();
      const std::string name = (*it)[3].str();
      if (!std::regex_match(suite, suite_name) || !std::regex_match(name, test_name)) {
        violations.push_back(
            {file.path, 0,
             "test " + suite + "." + name + " is not named Subject, Condition_Outcome"});
      }
    }
  }
  return violations;
}

}  // namespace dlo::tidy
