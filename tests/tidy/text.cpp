#include "tests/tidy/text.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <regex>

namespace dlo::tidy {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_space(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

void blank(std::string& text, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < std::min(end, text.size()); ++i) {
    if (text[i] != '\n') {
      text[i] = ' ';
    }
  }
}

// The position after a quoted literal that starts at `begin`.
std::size_t literal_end(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      return i + 1;
    }
  }
  return text.size();
}

// The position after R"tag( ... )tag" whose quote is at `quote`.
std::size_t raw_literal_end(std::string_view text, std::size_t quote) {
  const std::size_t open = text.find('(', quote);
  if (open == std::string_view::npos) {
    return text.size();
  }
  const std::string close = ")" + std::string(text.substr(quote + 1, open - quote - 1)) + "\"";
  const std::size_t found = text.find(close, open);
  return found == std::string_view::npos ? text.size() : found + close.size();
}

// The position after a comment or literal that starts at i, or i when none does.
std::size_t skip_non_code(std::string_view text, std::size_t i) {
  if (text.substr(i, 2) == "//") {
    return std::min(text.find('\n', i), text.size());
  }
  if (text.substr(i, 2) == "/*") {
    const std::size_t close = text.find("*/", i + 2);
    return close == std::string_view::npos ? text.size() : close + 2;
  }
  if (text[i] == '"') {
    const bool raw = i > 0 && text[i - 1] == 'R' && (i == 1 || !is_word(text[i - 2]));
    return raw ? raw_literal_end(text, i) : literal_end(text, i);
  }
  // An apostrophe inside a number is a digit separator.
  if (text[i] == '\'' && (i == 0 || !is_word(text[i - 1]))) {
    return literal_end(text, i);
  }
  return i;
}

// Whether the code before a brace is the head of a function definition.
bool is_function_head(const std::string& head) {
  static const std::regex container(
      R"(^(template\s*<.*>\s*)?(class|struct|enum|union|namespace|extern)\b[^()]*$)");
  static const std::regex assigned(R"(=\s*(\[.*)?$)");
  return head.find('(') != std::string::npos && !std::regex_search(head, container) &&
         !std::regex_search(head, assigned);
}

std::size_t matching_brace(std::string_view code, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < code.size(); ++i) {
    depth += code[i] == '{' ? 1 : code[i] == '}' ? -1 : 0;
    if (depth == 0) {
      return i;
    }
  }
  return code.size();
}

int line_of(std::string_view text, std::size_t position) {
  return 1 + static_cast<int>(std::count(
                 text.begin(), text.begin() + static_cast<std::ptrdiff_t>(position), '\n'));
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.ends_with(end);
}

}  // namespace

bool is_header(const SourceFile& file) {
  return ends_with(file.path, ".h");
}

bool is_cpp(const SourceFile& file) {
  return is_header(file) || ends_with(file.path, ".cpp") || ends_with(file.path, ".cu");
}

bool is_cmake(const SourceFile& file) {
  return ends_with(file.path, "CMakeLists.txt") || ends_with(file.path, ".cmake");
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_space(text.back())) {
    text.remove_suffix(1);
  }
  return std::string(text);
}

std::string collapse(std::string_view text) {
  std::string result;
  for (const char c : trim(text)) {
    if (!is_space(c)) {
      result += c;
    } else if (result.back() != ' ') {
      result += ' ';
    }
  }
  return result;
}

std::string code_only(std::string_view text) {
  std::string code(text);
  std::size_t i = 0;
  while (i < text.size()) {
    const std::size_t end = skip_non_code(text, i);
    blank(code, i, end);
    i = std::max(end, i + 1);
  }
  return code;
}

std::vector<FunctionSpan> find_functions(std::string_view text) {
  std::string code = code_only(text);
  // Preprocessor lines have braces of their own at times and end in no semicolon.
  static const std::regex directive(R"(^[ \t]*#[^\n]*)", std::regex::multiline);
  for (std::sregex_iterator it(code.begin(), code.end(), directive), end; it != end; ++it) {
    const auto begin = static_cast<std::size_t>(it->position());
    blank(code, begin, begin + static_cast<std::size_t>(it->length()));
  }
  std::vector<FunctionSpan> spans;
  std::size_t head_begin = 0;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i] == ';' || code[i] == '}') {
      head_begin = i + 1;
    } else if (code[i] == '{') {
      if (i > 0 && !is_space(code[i - 1])) {
        // `member_{value}`: part of the head, not a body; clang-format puts no space before it.
        i = matching_brace(code, i);
        continue;
      }
      if (is_function_head(collapse(std::string_view(code).substr(head_begin, i - head_begin)))) {
        while (head_begin < i && is_space(code[head_begin])) {
          ++head_begin;
        }
        const std::size_t close = matching_brace(code, i);
        spans.push_back({line_of(code, head_begin), line_of(code, close)});
        i = close;
      }
      head_begin = i + 1;
    }
  }
  return spans;
}

}  // namespace dlo::tidy
