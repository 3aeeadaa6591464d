#include "tests/mpi/harness/dlo_process.h"

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace dlo::harness::e2e {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

fs::path make_folder() {
  std::string pattern = (fs::temp_directory_path() / "dlo_e2e_XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw std::runtime_error("cannot make a folder for the test");
  }
  return pattern;
}

}  // namespace

std::vector<std::string> JobResult::error_lines() const {
  std::vector<std::string> lines;
  std::istringstream stream(err);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) {
      lines.push_back(line);
    }
  }
  return lines;
}

std::string JobResult::text() const {
  return "exit " + std::to_string(exit_code) + "\n" + out + err;
}

Workplace::Workplace() : root_(make_folder()) {}

Workplace::~Workplace() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

std::string Workplace::write(const std::string& name, const std::string& text) const {
  const fs::path file = root_ / name;
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
  return file.string();
}

fs::path Workplace::copy_checkpoint() const {
  const fs::path target = root_ / "checkpoint";
  fs::copy(DLO_WAN_TINY_DIR, target, fs::copy_options::recursive);
  return target;
}

JobResult Workplace::run_plain(const std::string& arguments) const {
  return run(std::string(DLO_PROGRAM) + " " + arguments);
}

JobResult Workplace::run_ranks(int ranks, const std::string& arguments) const {
  return run_mpirun("-np " + std::to_string(ranks) + " " + DLO_PROGRAM + " " + arguments);
}

JobResult Workplace::run_mpirun(const std::string& rest) const {
  return run(std::string(DLO_MPIRUN) + " -q --oversubscribe --bind-to none " + rest);
}

JobResult Workplace::run(const std::string& command) const {
  const fs::path out = root_ / "stdout.txt";
  const fs::path err = root_ / "stderr.txt";
  const std::string line = "timeout -k 5 " + std::to_string(kJobTimeoutS) + " " + command + " >" +
                           out.string() + " 2>" + err.string() + " </dev/null";
  const int status = std::system(line.c_str());
  return JobResult{.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                   .out = read_file(out),
                   .err = read_file(err)};
}

}  // namespace dlo::harness::e2e
