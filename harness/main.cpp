// The program `dlo`: started plainly for one rank, or under mpirun for several.
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "harness/cli/dispatch.h"
#include "harness/world_session.h"
#include "platform/posix/posix_file_system.h"
#include "platform/posix/sigbus_guard.h"
#include "platform/posix/steady_clock.h"

namespace {

// Swallows what ranks other than 0 would say.
class SilentBuffer : public std::streambuf {
 protected:
  int overflow(int c) override { return traits_type::not_eof(c); }
};

std::string join(const std::vector<std::string>& words) {
  std::string line = "dlo";
  for (const std::string& word : words) {
    line += " " + word;
  }
  return line;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  // Before MPI, which leaves a handler alone that it finds.
  dlo::platform::install_sigbus_guard();
  dlo::platform::SteadyClock clock;
  auto session = dlo::harness::WorldSession::start(&argc, &argv, clock);
  if (!session) {
    std::cerr << "dlo: " << session.refusal().message() << std::endl;
    return static_cast<int>(dlo::harness::ExitCode::kMachineLacks);
  }
  dlo::comm::World& world = (*session)->world();
  SilentBuffer silent_buffer;
  std::ostream silence(&silent_buffer);
  const bool speaks = world.rank() == 0;
  dlo::platform::PosixFileSystem files;
  const dlo::harness::CommandContext context{.world = world,
                                             .files = files,
                                             .clock = clock,
                                             .out = speaks ? std::cout : silence,
                                             .err = speaks ? std::cerr : silence,
                                             .terminal = ::isatty(STDERR_FILENO) == 1,
                                             .command_line = join(words)};
  const dlo::harness::ExitCode code = dlo::harness::dispatch(context, words);
  std::cout.flush();
  return (*session)->leave(code);
}
