// What the tidy rules look at: the text files of the repository, read once, or a few in-memory
// files in the tests of the rules themselves.
// Owns: the texts. Must not own: any rule. Not thread-safe, never changed after construction.
// Failure: an unreadable file throws std::runtime_error naming it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlo::tidy {

struct SourceFile {
  std::string path;  // from the top folder, with '/'
  std::string text;
};

class SourceTree {
 public:
  // An in-memory tree; its top-level entries are those of its paths.
  explicit SourceTree(std::vector<SourceFile> files);
  [[nodiscard]] static SourceTree one(std::string path, std::string text);
  // Every text file below `root`, without build products, dependencies and git's own folder.
  [[nodiscard]] static SourceTree load(const std::string& root);

  [[nodiscard]] const std::vector<SourceFile>& files() const { return files_; }
  [[nodiscard]] const std::vector<std::string>& top_level() const { return top_level_; }
  // The file of this path, or nullptr.
  [[nodiscard]] const SourceFile* find(std::string_view path) const;
  // Whether some file lies at this path or below it.
  [[nodiscard]] bool has(std::string_view path) const;

 private:
  std::vector<SourceFile> files_;
  std::vector<std::string> top_level_;
};

// One broken rule at one place; line 0 is the whole file.
struct Violation {
  std::string path;
  int line = 0;
  std::string message;
};
using Violations = std::vector<Violation>;

// One line a violation, empty when there is none.
[[nodiscard]] std::string describe(const Violations& violations);

}  // namespace dlo::tidy
