#include "tests/tidy/rooms.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy/text.h"

namespace dlo::tidy {
namespace {

using Rooms = std::set<std::string, std::less<>>;

const std::map<std::string, Rooms, std::less<>>& may_include() {
  static const std::map<std::string, Rooms, std::less<>> table{
      {"base", {}},
      {"contracts", {"base"}},
      {"config", {"base"}},
      {"platform", {"base"}},
      {"comm", {"base", "platform"}},
      {"host_weights", {"base", "contracts", "config", "platform"}},
      {"hot_path", {"base", "contracts", "platform", "comm"}},
      {"backend", {"base", "contracts", "config", "platform", "comm", "hot_path"}},
      {"synthetic", {"base", "contracts", "platform", "comm"}},
      {"model", {"base", "contracts", "platform", "comm"}},
      {"telemetry", {"base", "platform", "comm"}},
      {"engine",
       {"base", "contracts", "config", "platform", "comm", "host_weights", "hot_path", "backend",
        "synthetic", "model", "telemetry"}},
      {"harness",
       {"base", "contracts", "config", "platform", "comm", "host_weights", "synthetic", "telemetry",
        "engine"}},
  };
  return table;
}

std::string first_component(std::string_view path) {
  return std::string(path.substr(0, path.find('/')));
}

// "backend" of src/backend/x.h, "harness" of harness/x.h, "tests" of tests/..., else "".
std::string room_of(std::string_view path) {
  if (path.starts_with("src/")) {
    return path.find('/', 4) == std::string_view::npos ? "" : first_component(path.substr(4));
  }
  const std::string top = first_component(path);
  return top == "harness" || top == "tests" || top == "benchmarks" ? top : "";
}

bool is_torch_header(std::string_view include) {
  return include.starts_with("torch/") || include.starts_with("ATen/") ||
         include.starts_with("c10/");
}

bool may_use_torch(std::string_view room) {
  return room == "model" || room == "engine" || room == "tests" || room == "benchmarks";
}

std::string check_include(const std::string& room, const std::string& include) {
  const bool is_test = room == "tests" || room == "benchmarks";
  const std::string target = first_component(include);
  if (!may_include().contains(target) && target != "tests" && target != "benchmarks") {
    return "include path \"" + include + "\" is not rooted at src, harness/, tests/ or benchmarks/";
  }
  if (is_test || target == room) {
    return "";
  }
  const auto row = may_include().find(room);
  if (row == may_include().end() || !row->second.contains(target)) {
    return "room " + room + " may not include room " + target + " (" + include + ")";
  }
  return "";
}

struct RawCall {
  std::regex pattern;
  std::string_view what;
  bool in_tests = false;  // forbidden there too
};

const std::vector<RawCall>& raw_calls() {
  // A call of a plain function: not a member, not a declaration with a type before the name.
  static const std::string call = R"((^\s*|[^\w.>:\s*&]\s*|&&\s*|(^|[^:\w])::|\breturn\s+))";
  static const std::vector<RawCall> table{
      {std::regex(R"(\b(cuda|nccl|cu(Mem|Stream|Ctx|Device|Event|Launch))[A-Z]\w*\s*\()"),
       "a CUDA or NCCL call", true},
      {std::regex(R"(\b(dlopen|dlsym)\s*\()"), "a call of the loader"},
      {std::regex(R"(\bMPI_[A-Z]\w*|#\s*include\s*<mpi\.h>)"), "an MPI call"},
      {std::regex(call + R"((mmap|munmap|mremap|msync|madvise|mlock|mprotect)\s*\()"),
       "a memory mapping call"},
      {std::regex(call +
                  R"((open|openat|flock|fcntl|fsync|fdatasync|ftruncate|pread|pwrite)\s*\()"),
       "a file call"},
      {std::regex(R"(#\s*include\s*<(sys/mman|sys/file|fcntl|pthread|dlfcn)\.h>)"),
       "a system header"},
      {std::regex(R"(#\s*include\s*<(cuda(_runtime(_api)?)?|nccl)\.h>)"), "a CUDA header"},
      {std::regex(R"(\bstd::(jthread|thread|async|this_thread)\b|\bpthread_\w+)"), "a thread"},
      // Clock::sleep, a member, is the seam itself.
      {std::regex(R"(\b(sleep_for|sleep_until|usleep|nanosleep)\b|)" + call + R"(sleep\s*\()"),
       "a sleep", true},
      {std::regex(
           R"(\b(steady_clock|system_clock|high_resolution_clock|clock_gettime|gettimeofday)\b)"),
       "a clock", true},
  };
  return table;
}

// Regular expressions are slow; a line without any of these cannot match one of the table.
bool may_match(const std::string& line) {
  static constexpr std::array<std::string_view, 22> kHints{
      "cuda",     "nccl",   "MPI_",  "include",      "map",   "sync",     "madvise", "mlock",
      "mprotect", "open",   "flock", "fcntl",        "async", "truncate", "pread",   "pwrite",
      "sleep",    "thread", "clock", "gettimeofday", "cu",    "dl"};
  return std::any_of(kHints.begin(), kHints.end(),
                     [&](std::string_view hint) { return line.find(hint) != std::string::npos; });
}

bool below_a_seam(std::string_view path) {
  return path.starts_with("src/platform/") || path.starts_with("src/comm/") ||
         path.starts_with("tests/support/") || path.starts_with("tests/tidy/") ||
         path.starts_with("tests/gpu/platform/") ||  // what is below the seam is asked itself
         path.starts_with("benchmarks/");
}

// The words of every dlo_add_library( ... ) of a CMake file: name first.
std::vector<std::vector<std::string>> library_calls(const std::string& text) {
  static const std::regex call(R"(dlo_add_library\s*\(([^)]*)\))");
  static const std::regex word(R"(\S+)");
  std::vector<std::vector<std::string>> calls;
  for (std::sregex_iterator it(text.begin(), text.end(), call), end; it != end; ++it) {
    const std::string body = (*it)[1].str();
    std::vector<std::string> words;
    for (std::sregex_iterator w(body.begin(), body.end(), word); w != end; ++w) {
      words.push_back(w->str());
    }
    calls.push_back(words);
  }
  return calls;
}

std::vector<std::string> dependencies(const std::vector<std::string>& words) {
  const auto depends = std::find(words.begin(), words.end(), "DEPENDS");
  return depends == words.end() ? std::vector<std::string>{}
                                : std::vector<std::string>(depends + 1, words.end());
}

}  // namespace

Violations check_includes(const SourceTree& tree) {
  static const std::regex include(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  Violations violations;
  for (const SourceFile& file : tree.files()) {
    const std::string room = room_of(file.path);
    if (!is_cpp(file) || room.empty()) {
      continue;
    }
    int number = 0;
    for (const std::string& line : split_lines(file.text)) {
      ++number;
      std::smatch match;
      if (!std::regex_search(line, match, include)) {
        continue;
      }
      const std::string header = match[2].str();
      if (is_torch_header(header)) {
        if (!may_use_torch(room)) {
          violations.push_back({file.path, number, "room " + room + " may not use libtorch"});
        }
      } else if (match[1].str() == "\"") {
        const std::string message = check_include(room, header);
        if (!message.empty()) {
          violations.push_back({file.path, number, message});
        }
      }
    }
  }
  return violations;
}

Violations check_link_lists(const SourceTree& tree) {
  std::map<std::string, std::string> room_of_library;
  for (const SourceFile& file : tree.files()) {
    if (is_cmake(file)) {
      for (const auto& words : library_calls(file.text)) {
        room_of_library["dlo::" + (words.empty() ? "" : words.front())] = room_of(file.path);
      }
    }
  }
  Violations violations;
  for (const SourceFile& file : tree.files()) {
    const std::string room = room_of(file.path);
    const auto row = may_include().find(room);
    if (!is_cmake(file) || row == may_include().end()) {
      continue;
    }
    for (const auto& words : library_calls(file.text)) {
      for (const std::string& library : dependencies(words)) {
        const auto target = room_of_library.find(library);
        const bool torch = library == "dlo::torch" && !may_use_torch(room);
        const bool foreign = target != room_of_library.end() && target->second != room &&
                             !row->second.contains(target->second);
        if (torch || foreign) {
          violations.push_back({file.path, 0, "room " + room + " may not link " + library});
        }
      }
    }
  }
  return violations;
}

Violations check_raw_calls(const SourceTree& tree) {
  Violations violations;
  for (const SourceFile& file : tree.files()) {
    if (!is_cpp(file) || room_of(file.path).empty() || below_a_seam(file.path)) {
      continue;
    }
    const bool is_test = file.path.starts_with("tests/");
    int number = 0;
    for (const std::string& line : split_lines(code_only(file.text))) {
      ++number;
      if (!may_match(line)) {
        continue;
      }
      for (const RawCall& call : raw_calls()) {
        if ((!is_test || call.in_tests) && std::regex_search(line, call.pattern)) {
          violations.push_back({file.path, number, std::string(call.what) + " above a seam"});
        }
      }
    }
  }
  return violations;
}

}  // namespace dlo::tidy
