// Owns: ChildProcess, a program started in a session of its own, so that it and whatever it starts
// can be found and ended by process id; and the look-up of programs.
// Must not own: what the program is for. Output goes to a file, never through this process.
// Threading: one thread uses one object. Failure: Refusals (file_not_found, file_unwritable,
// internal_error); the destructor ends what is left. When this process dies the kernel sends
// SIGTERM to the child.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "platform/clock.h"
#include "platform/file_system.h"

namespace dlo::platform {

struct ChildCommand {
  std::vector<std::string> words;  // the program's path first
  // Added to this process's environment, or put in place of what it has.
  std::vector<std::pair<std::string, std::string>> environment;
  Path output;  // stdout and stderr; a new file
};

struct ChildEnd {
  int exit_code = 0;  // without meaning when a signal ended it
  int signal = 0;     // 0: it exited

  // "exit code 1", "signal 9".
  [[nodiscard]] std::string text() const;
};

class ChildProcess {
 public:
  // `clock` outlives the object. A program that cannot be executed is refused here.
  [[nodiscard]] static Result<ChildProcess> start(const ChildCommand& command, Clock& clock);

  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  [[nodiscard]] int pid() const { return pid_; }
  // Waits for the child itself. None: it still runs when the deadline is over.
  [[nodiscard]] std::optional<ChildEnd> wait(Deadline deadline);
  // Process ids of the child's session that still run or are stopped; the child is one of them.
  [[nodiscard]] std::vector<int> members() const;
  // Waits until no member is left; false when some are when the deadline is over.
  [[nodiscard]] bool wait_for_members(Deadline deadline);
  // Asks the child to end (SIGTERM), and after `grace` ends every member by its id (SIGKILL).
  // Returns the ids that had to be killed. Idempotent.
  std::vector<int> end(Nanoseconds grace) noexcept;

 private:
  ChildProcess(int pid, Clock& clock) : pid_(pid), clock_(&clock) {}
  void look();

  int pid_ = 0;
  Clock* clock_;
  std::optional<ChildEnd> ended_;
};

// Path of the program `name`: itself when it holds a slash, else from PATH. Codes: file_not_found.
[[nodiscard]] Result<Path> find_program(const std::string& name);

// The program that this process runs.
[[nodiscard]] Path own_program();
[[nodiscard]] int own_process_id();
[[nodiscard]] bool process_exists(int pid);

}  // namespace dlo::platform
