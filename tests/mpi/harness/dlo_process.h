// What the end-to-end tests share: starting the program dlo under mpirun and looking at what it
// said, how it ended and what it left behind; a folder a test.
// Must not own: expectations. Failure: a job that does not end within kJobTimeoutS is killed and
// has exit code 124 or 137.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dlo::harness::e2e {

inline constexpr int kJobTimeoutS = 60;

struct JobResult {
  int exit_code = -1;
  std::string out;
  std::string err;

  // Lines of standard error that are not empty.
  [[nodiscard]] std::vector<std::string> error_lines() const;
  // Both streams, for messages of failed assertions.
  [[nodiscard]] std::string text() const;
};

// A folder of its own, removed at the end.
class Workplace {
 public:
  Workplace();
  ~Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return root_ / name; }
  // Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& text) const;
  // A copy of the diffusers-written checkpoint, to be damaged.
  [[nodiscard]] std::filesystem::path copy_checkpoint() const;

  // `dlo <arguments>` on one rank without mpirun, or under mpirun.
  [[nodiscard]] JobResult run_plain(const std::string& arguments) const;
  [[nodiscard]] JobResult run_ranks(int ranks, const std::string& arguments) const;
  // A whole mpirun command line after its own flags, "-np 1 DLO ... : -np 1 DLO ...".
  [[nodiscard]] JobResult run_mpirun(const std::string& rest) const;

 private:
  [[nodiscard]] JobResult run(const std::string& command) const;

  std::filesystem::path root_;
};

}  // namespace dlo::harness::e2e
