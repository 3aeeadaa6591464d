#include "tests/support/watchdog.h"

#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace dlo::test_support {
namespace {

// Written before and read in the signal handler, so a plain buffer and not a string.
std::array<char, 256> running_test{"(no test started)"};

void write_text(const char* text) {
  const ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
  static_cast<void>(written);
}

void abort_on_alarm(int /*signal*/) {
  write_text("\nwatchdog: deadline passed in ");
  write_text(running_test.data());
  if (const char* rank = std::getenv("OMPI_COMM_WORLD_RANK")) {
    write_text(" on rank ");
    write_text(rank);
  }
  write_text("; stack of the interrupted thread:\n");
  std::array<void*, 64> frames{};
  const int depth = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  ::backtrace_symbols_fd(frames.data(), depth, STDERR_FILENO);
  std::abort();
}

unsigned timeout_s() {
  const char* text = std::getenv("DLO_TEST_TIMEOUT_S");
  const unsigned long parsed = text != nullptr ? std::strtoul(text, nullptr, 10) : 0;
  return parsed > 0 ? static_cast<unsigned>(parsed) : kDefaultTimeoutS;
}

// Before main, so that a test file needs no line for it.
const bool registered = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new Watchdog);
  return true;
}();

}  // namespace

void Watchdog::OnTestProgramStart(const testing::UnitTest& /*unit_test*/) {
  // The first backtrace loads libgcc, which allocates; a signal handler must not.
  std::array<void*, 1> frame{};
  static_cast<void>(::backtrace(frame.data(), 1));
  struct sigaction action = {};
  action.sa_handler = abort_on_alarm;
  ::sigaction(SIGALRM, &action, nullptr);
  ::alarm(std::max(1U, timeout_s() * 9 / 10));
}

void Watchdog::OnTestStart(const testing::TestInfo& info) {
  std::snprintf(running_test.data(), running_test.size(), "%s.%s", info.test_suite_name(),
                info.name());
}

void Watchdog::OnTestProgramEnd(const testing::UnitTest& /*unit_test*/) {
  ::alarm(0);
}

}  // namespace dlo::test_support
