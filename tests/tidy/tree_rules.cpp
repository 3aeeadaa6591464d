#include "tests/tidy/tree_rules.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy/text.h"

namespace dlo::tidy {
namespace {

using Words = std::set<std::string, std::less<>>;

// Whether `word` stands in `text` between characters that cannot belong to a file name.
bool has_word(std::string_view text, std::string_view word) {
  const auto part_of_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '/';
  };
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !part_of_name(text[at - 1])) &&
        (end == text.size() || !part_of_name(text[end]))) {
      return true;
    }
  }
  return false;
}

bool is_compiled(const SourceFile& file) {
  return is_cpp(file) && (file.path.starts_with("src/") || file.path.starts_with("harness/") ||
                          file.path.starts_with("tests/") || file.path.starts_with("benchmarks/"));
}

// Whether a CMakeLists.txt in the file's folder or above names it relative to itself.
bool listed_in_cmake(const SourceTree& tree, const SourceFile& file) {
  std::size_t slash = file.path.rfind('/');
  while (slash != std::string::npos && slash > 0) {
    const SourceFile* list = tree.find(file.path.substr(0, slash) + "/CMakeLists.txt");
    if (list != nullptr && has_word(list->text, file.path.substr(slash + 1))) {
      return true;
    }
    slash = file.path.rfind('/', slash - 1);
  }
  return false;
}

Words included_paths(const SourceTree& tree) {
  static const std::regex include("^\\s*#\\s*include\\s*\"([^\"]+)\"", std::regex::multiline);
  Words paths;
  for (const SourceFile& file : tree.files()) {
    if (is_cpp(file)) {
      for (std::sregex_iterator it(file.text.begin(), file.text.end(), include), end; it != end;
           ++it) {
        paths.insert((*it)[1].str());
      }
    }
  }
  return paths;
}

// The lines of the README's section with this word in its heading.
std::vector<std::string> readme_section(const SourceTree& tree, std::string_view heading) {
  std::vector<std::string> section;
  const SourceFile* readme = tree.find("README.md");
  if (readme == nullptr) {
    return section;
  }
  bool inside = false;
  for (const std::string& line : split_lines(readme->text)) {
    if (line.starts_with("#")) {
      inside = line.find(heading) != std::string::npos;
    } else if (inside) {
      section.push_back(line);
    }
  }
  return section;
}

// "Subject.Condition_Outcome" of every test below tests/.
Words test_names(const SourceTree& tree) {
  static const std::regex test(
      R"(^\s*(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\s*\(\s*(\w+)\s*,\s*(\w+))",
      std::regex::multiline);
  Words names;
  for (const SourceFile& file : tree.files()) {
    if (is_cpp(file) && file.path.starts_with("tests/")) {
      for (std::sregex_iterator it(file.text.begin(), file.text.end(), test), end; it != end;
           ++it) {
        names.insert((*it)[1].str() + "." + (*it)[2].str());
      }
    }
  }
  return names;
}

struct Invariant {
  std::string_view id;
  std::string_view subject;  // the invariant needs a test once this exists
};

constexpr std::array<Invariant, 12> kInvariants{{
    {"I1", "src/engine/CMakeLists.txt"},
    {"I2", "src/hot_path/CMakeLists.txt"},
    {"I3", "src/telemetry/CMakeLists.txt"},
    {"I4", "src/backend/CMakeLists.txt"},
    {"I5", "src/backend/CMakeLists.txt"},
    {"I6", "src/backend/CMakeLists.txt"},
    {"I7", "src/host_weights/runtime_cache"},
    {"I8", "src/backend/registration_session.h"},
    {"I9", "src/backend/CMakeLists.txt"},
    {"I10", "src/config/CMakeLists.txt"},
    {"I11", "src/hot_path/CMakeLists.txt"},
    {"I12", "src/host_weights/runtime_cache"},
}};

// Compared without case, white space and the last full stop.
std::string normal_sentence(std::string_view text) {
  std::string sentence = collapse(text);
  while (!sentence.empty() && sentence.back() == '.') {
    sentence.pop_back();
  }
  std::transform(sentence.begin(), sentence.end(), sentence.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return sentence;
}

constexpr std::string_view kDeviationTag = "Deviates from vLLM-Omni:";

// The sentence after the tag, over the comment lines that follow until a full stop ends it.
std::string tagged_sentence(const std::vector<std::string>& lines, std::size_t first) {
  std::string sentence =
      lines[first].substr(lines[first].find(kDeviationTag) + kDeviationTag.size());
  for (std::size_t i = first + 1; i < lines.size(); ++i) {
    const std::string line = trim(lines[i]);
    if (trim(sentence).ends_with('.') || !line.starts_with("//")) {
      break;
    }
    sentence += " " + line.substr(line.find_first_not_of('/'));
  }
  return normal_sentence(sentence);
}

// Bullets of a Markdown list, each with its continuation lines.
std::vector<std::string> bullets(const std::vector<std::string>& lines) {
  std::vector<std::string> result;
  for (const std::string& line : lines) {
    if (line.starts_with("- ")) {
      result.push_back(line.substr(2));
    } else if (!result.empty() && line.starts_with("  ")) {
      result.back() += " " + line;
    }
  }
  return result;
}

}  // namespace

Violations check_listed(const SourceTree& tree) {
  const Words included = included_paths(tree);
  Violations violations;
  for (const SourceFile& file : tree.files()) {
    if (!is_compiled(file)) {
      continue;
    }
    const std::string path = file.path.starts_with("src/") ? file.path.substr(4) : file.path;
    if (is_header(file) ? !included.contains(path) : !listed_in_cmake(tree, file)) {
      violations.push_back(
          {file.path, 0, is_header(file) ? "header that nobody includes" : "in no CMake list"});
    }
  }
  return violations;
}

Violations check_top_level(const SourceTree& tree) {
  static const Words agreed{"CMakeLists.txt",
                            "CMakePresets.json",
                            "README.md",
                            ".clang-format",
                            ".clang-tidy",
                            ".gitignore",
                            ".ci",
                            ".github",
                            "src",
                            "harness",
                            "scenarios",
                            "tests",
                            "benchmarks",
                            "reports",
                            "scripts"};
  Violations violations;
  for (const std::string& entry : tree.top_level()) {
    if (!agreed.contains(entry)) {
      violations.push_back({entry, 0, "not in the agreed top level"});
    }
  }
  return violations;
}

Violations check_scenarios(const SourceTree& tree) {
  Violations violations;
  for (const SourceFile& file : tree.files()) {
    if (file.path.starts_with("scenarios/") && file.path.ends_with(".json") &&
        !nlohmann::json::accept(file.text)) {
      violations.push_back({file.path, 0, "does not parse as JSON"});
    }
  }
  return violations;
}

Violations check_setup_libraries(const SourceTree& tree) {
  static const std::map<std::string, std::string, std::less<>> target_of{
      {"nlohmann-json3-dev", "nlohmann_json::nlohmann_json"},
      {"libcli11-dev", "CLI11::CLI11"},
      {"libspdlog-dev", "dlo::spdlog"},
      {"libfmt-dev", "dlo::fmt"},
      {"libssl-dev", "OpenSSL::Crypto"},
      {"libvalijson-dev", "valijson"},
      {"libgtest-dev", "GTest::gtest"},
      {"librapidcheck-dev", "rapidcheck_gtest"},
      {"libbenchmark-dev", "benchmark::benchmark"},
      {"libopenmpi-dev", "MPI::MPI_CXX"},
  };
  static const std::regex package(R"(\b[a-z0-9][a-z0-9+.-]*-dev\b)");
  Violations violations;
  const SourceFile* setup = tree.find("scripts/setup");
  if (setup == nullptr) {
    return {{"scripts/setup", 0, "missing"}};
  }
  std::string lists;
  for (const SourceFile& file : tree.files()) {
    if (file.path.ends_with("/CMakeLists.txt")) {
      lists += file.text;
    }
  }
  for (std::sregex_iterator it(setup->text.begin(), setup->text.end(), package), end; it != end;
       ++it) {
    // The compiler's own run-time library: the fuzz helper links it with -fsanitize.
    const std::string name = it->str();
    const auto known = target_of.find(name);
    if (name.starts_with("libclang-rt-")) {
      continue;
    }
    if (known == target_of.end()) {
      violations.push_back({setup->path, 0, name + ": name its target in tree_rules.cpp"});
    } else if (!has_word(lists, known->second)) {
      violations.push_back({setup->path, 0, name + " is installed and no target links it"});
    }
  }
  return violations;
}

Violations check_invariants(const SourceTree& tree) {
  static const std::regex test_name(R"(`([A-Z]\w*\.\w+)`)");
  const std::vector<std::string> section = readme_section(tree, "Invariants");
  const Words tests = test_names(tree);
  Violations violations;
  for (const Invariant& invariant : kInvariants) {
    const std::string id(invariant.id);
    const auto row = std::find_if(section.begin(), section.end(), [&](const std::string& line) {
      return line.starts_with("| " + id + " |");
    });
    if (row == section.end()) {
      violations.push_back({"README.md", 0, "no row for invariant " + id});
      continue;
    }
    std::size_t named = 0;
    for (std::sregex_iterator it(row->begin(), row->end(), test_name), end; it != end; ++it) {
      ++named;
      if (!tests.contains((*it)[1].str())) {
        violations.push_back({"README.md", 0, id + " names " + (*it)[1].str() + ", no such test"});
      }
    }
    if (named == 0 && tree.has(invariant.subject)) {
      violations.push_back({"README.md", 0, id + " names no test, but its subject exists"});
    }
  }
  return violations;
}

Violations check_deviations(const SourceTree& tree) {
  Words listed;
  for (const std::string& bullet : bullets(readme_section(tree, "Deviations"))) {
    // The place in the code may follow in brackets.
    listed.insert(normal_sentence(bullet.substr(0, bullet.find(" (`"))));
  }
  Words marked;
  Violations violations;
  for (const SourceFile& file : tree.files()) {
    if (!is_cpp(file) || file.path.starts_with("tests/")) {
      continue;
    }
    const std::vector<std::string> lines = split_lines(file.text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].find(kDeviationTag) == std::string::npos) {
        continue;
      }
      const std::string sentence = tagged_sentence(lines, i);
      marked.insert(sentence);
      if (!listed.contains(sentence)) {
        violations.push_back({file.path, static_cast<int>(i) + 1,
                              "deviation is not in the README's list: " + sentence});
      }
    }
  }
  for (const std::string& sentence : listed) {
    if (!marked.contains(sentence)) {
      violations.push_back({"README.md", 0, "listed deviation is marked nowhere: " + sentence});
    }
  }
  return violations;
}

}  // namespace dlo::tidy
