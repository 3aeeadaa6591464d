#include "tests/tidy/source_tree.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <utility>

namespace dlo::tidy {
namespace {

namespace fs = std::filesystem;

// Products and fetched things; git ignores them too.
constexpr std::array<std::string_view, 3> kNotSource{".git", ".deps", "build"};
constexpr std::array<std::string_view, 10> kTextExtensions{".h",  ".cpp",  ".cu",  ".cmake", ".txt",
                                                           ".md", ".json", ".yml", ".patch", ".sh"};

bool is_text(const fs::path& path) {
  const std::string extension = path.extension().string();
  const std::string name = path.filename().string();
  // Scripts have no extension; dot-files such as .clang-format do not either.
  return extension.empty() || name.front() == '.' ||
         std::find(kTextExtensions.begin(), kTextExtensions.end(), extension) !=
             kTextExtensions.end();
}

std::string read_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    throw std::runtime_error("cannot read " + path.string());
  }
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

bool below(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

}  // namespace

SourceTree::SourceTree(std::vector<SourceFile> files) : files_(std::move(files)) {
  std::set<std::string> entries;
  for (const SourceFile& file : files_) {
    entries.insert(file.path.substr(0, file.path.find('/')));
  }
  top_level_.assign(entries.begin(), entries.end());
}

SourceTree SourceTree::one(std::string path, std::string text) {
  return SourceTree(std::vector<SourceFile>{{std::move(path), std::move(text)}});
}

SourceTree SourceTree::load(const std::string& root) {
  std::vector<SourceFile> files;
  for (const fs::directory_entry& top : fs::directory_iterator(root)) {
    const std::string name = top.path().filename().string();
    if (std::find(kNotSource.begin(), kNotSource.end(), name) != kNotSource.end()) {
      continue;
    }
    if (top.is_regular_file()) {
      files.push_back({name, read_file(top.path())});
      continue;
    }
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(top.path())) {
      // Fixtures are others' bytes, not ours to judge.
      const std::string path = fs::relative(entry.path(), root).generic_string();
      if (entry.is_regular_file() && is_text(entry.path()) && !below(path, "tests/golden/data")) {
        files.push_back({path, read_file(entry.path())});
      }
    }
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return SourceTree(std::move(files));
}

const SourceFile* SourceTree::find(std::string_view path) const {
  const auto found = std::find_if(files_.begin(), files_.end(),
                                  [&](const SourceFile& file) { return file.path == path; });
  return found == files_.end() ? nullptr : &*found;
}

bool SourceTree::has(std::string_view path) const {
  return std::any_of(files_.begin(), files_.end(), [&](const SourceFile& file) {
    return file.path == path || below(file.path, path);
  });
}

std::string describe(const Violations& violations) {
  std::string text;
  for (const Violation& violation : violations) {
    text += violation.path;
    if (violation.line > 0) {
      text += ":" + std::to_string(violation.line);
    }
    text += ": " + violation.message + "\n";
  }
  return text;
}

}  // namespace dlo::tidy
