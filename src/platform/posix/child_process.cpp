#include "platform/posix/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>

#include "base/codes.h"
#include "platform/posix/descriptor.h"

namespace dlo::platform {

namespace {

constexpr Nanoseconds kPoll = 10 * kMillisecond;
// Between the last SIGKILL and the end of the search for members that it missed.
constexpr Nanoseconds kKillTimeout = 5 * kSecond;

std::vector<std::string> environment_of(const ChildCommand& command) {
  std::map<std::string, std::string> values;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const auto equals = text.find('=');
    values[text.substr(0, equals)] = equals == std::string::npos ? "" : text.substr(equals + 1);
  }
  for (const auto& [name, value] : command.environment) {
    values[name] = value;
  }
  std::vector<std::string> entries;
  for (const auto& [name, value] : values) {
    entries.push_back(name + "=" + value);
  }
  return entries;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (auto& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

struct Prepared {
  char* const* words;
  char* const* environment;
  int output;
  int report;  // where the number of a failed call goes
};

// After fork: async-signal-safe calls only.
[[noreturn]] void become(const Prepared& prepared) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (input >= 0 && ::dup2(input, STDIN_FILENO) >= 0 &&
      ::dup2(prepared.output, STDOUT_FILENO) >= 0 && ::dup2(prepared.output, STDERR_FILENO) >= 0) {
    ::execve(prepared.words[0], prepared.words, prepared.environment);
  }
  const int number = errno;
  static_cast<void>(!::write(prepared.report, &number, sizeof(number)));
  ::_exit(127);
}

// The session id of a process that has not ended; none for others. /proc/PID/stat: pid (name)
// state ppid pgrp session ...
std::optional<int> living_session(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text;
  std::getline(file, text);
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) {
    return std::nullopt;
  }
  std::istringstream fields(text.substr(name_end + 1));
  std::string state;
  int parent = 0;
  int group = 0;
  int session = 0;
  fields >> state >> parent >> group >> session;
  const bool ended = !fields || state == "Z" || state == "X";
  return ended ? std::nullopt : std::optional(session);
}

}  // namespace

std::string ChildEnd::text() const {
  return signal != 0 ? fmt::format("signal {}", signal) : fmt::format("exit code {}", exit_code);
}

Result<ChildProcess> ChildProcess::start(const ChildCommand& command, Clock& clock) {
  require(!command.words.empty(), "a command has at least the program's path");
  const Descriptor output =
      open_descriptor(command.output, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
  if (!output.open()) {
    return file_refusal(codes::kFileUnwritable, "write", command.output, errno);
  }
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return file_refusal(codes::kInternal, "make a pipe", command.words.front(), errno);
  }
  const Descriptor report_read(ends[0]);
  Descriptor report_write(ends[1]);
  auto words = command.words;
  auto environment = environment_of(command);
  const auto word_pointers = pointers_to(words);
  const auto environment_pointers = pointers_to(environment);
  const int pid = ::fork();
  if (pid == 0) {
    become({word_pointers.data(), environment_pointers.data(), output.number(),
            report_write.number()});
  }
  if (pid < 0) {
    return file_refusal(codes::kInternal, "fork for", command.words.front(), errno);
  }
  report_write = Descriptor();
  ChildProcess child(pid, clock);
  int error_number = 0;
  // Ends at exec, which closes the other end, or with the number of what failed.
  ssize_t count = 0;
  do {
    count = ::read(report_read.number(), &error_number, sizeof(error_number));
  } while (count < 0 && errno == EINTR);
  if (count > 0) {
    static_cast<void>(child.wait(Deadline::after(clock.now(), kKillTimeout)));
    return file_refusal(codes::kFileUnreadable, "execute", command.words.front(), error_number);
  }
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), clock_(other.clock_), ended_(other.ended_) {}

ChildProcess::~ChildProcess() {
  static_cast<void>(end(0));
}

void ChildProcess::look() {
  int status = 0;
  if (!ended_ && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    const bool signalled = WIFSIGNALED(status);
    ended_ = ChildEnd{.exit_code = signalled ? 0 : WEXITSTATUS(status),
                      .signal = signalled ? WTERMSIG(status) : 0};
  }
}

std::optional<ChildEnd> ChildProcess::wait(Deadline deadline) {
  look();
  while (!ended_ && !deadline.expired(clock_->now())) {
    clock_->sleep(kPoll);
    look();
  }
  return ended_;
}

std::vector<int> ChildProcess::members() const {
  std::vector<int> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    int pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ptr == name.data() + name.size() && living_session(name) == pid_) {
      found.push_back(pid);
    }
  }
  return found;
}

bool ChildProcess::wait_for_members(Deadline deadline) {
  look();
  while (!members().empty()) {
    if (deadline.expired(clock_->now())) {
      return false;
    }
    clock_->sleep(kPoll);
    look();
  }
  return true;
}

std::vector<int> ChildProcess::end(Nanoseconds grace) noexcept {
  std::vector<int> killed;
  if (pid_ == 0) {
    return killed;
  }
  try {
    look();
    if (!ended_ && grace > 0) {
      ::kill(pid_, SIGTERM);
      static_cast<void>(wait(Deadline::after(clock_->now(), grace)));
    }
    const Deadline deadline = Deadline::after(clock_->now(), kKillTimeout);
    // Again and again, for a member may have started another one meanwhile.
    for (auto left = members(); !left.empty() && !deadline.expired(clock_->now());
         left = members()) {
      for (const int pid : left) {
        ::kill(pid, SIGKILL);
        if (std::find(killed.begin(), killed.end(), pid) == killed.end()) {
          killed.push_back(pid);
        }
      }
      clock_->sleep(kPoll);
    }
    static_cast<void>(wait(deadline));
  } catch (const std::exception&) {
    // Out of memory while looking: the child itself is ended all the same.
    ::kill(pid_, SIGKILL);
  }
  return killed;
}

Result<Path> find_program(const std::string& name) {
  const auto runs = [](const Path& path) {
    std::error_code error;
    return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) {
    if (runs(name)) {
      return Path(name);
    }
    return refuse(codes::kFileNotFound, "there is no such program", name, "check the path");
  }
  const char* const search = std::getenv("PATH");
  std::istringstream folders(search == nullptr ? "" : search);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.empty() && runs(Path(folder) / name)) {
      return Path(folder) / name;
    }
  }
  return refuse(codes::kFileNotFound, "no program called " + name + " is on PATH", "PATH",
                "install it, or give its path");
}

Path own_program() {
  return std::filesystem::read_symlink("/proc/self/exe");
}

int own_process_id() {
  return ::getpid();
}

bool process_exists(int pid) {
  return ::kill(pid, 0) == 0 || errno != ESRCH;
}

}  // namespace dlo::platform
