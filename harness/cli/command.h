// Owns: what every subcommand is given and gives back.
// Must not own: subcommands. Commands run on every rank; what they say is said by rank 0 alone.
#pragma once

#include <iosfwd>
#include <string>

#include "base/refusal.h"
#include "comm/communicator.h"
#include "harness/world_session.h"
#include "platform/clock.h"
#include "platform/file_system.h"

namespace dlo::harness {

struct CommandContext {
  comm::World& world;
  platform::FileSystem& files;
  platform::Clock& clock;
  std::ostream& out;         // results; rank 0 only, silent elsewhere
  std::ostream& err;         // errors and progress; rank 0 only, silent elsewhere
  bool terminal = false;     // err is a terminal
  std::string command_line;  // as started, for results

  [[nodiscard]] bool is_rank_zero() const { return world.rank() == 0; }
};

// How long ranks wait for each other between steps that are quick on every rank.
inline constexpr Nanoseconds kStepTimeout = 120 * kSecond;

// One line on rank 0: "dlo: <message>".
void say_error(const CommandContext& context, const Refusal& refusal);

// All ranks agree that a step is done: ok everywhere, or the refusal of the lowest refusing rank.
[[nodiscard]] Status agree_on_step(const CommandContext& context, const char* step,
                                   const Status& mine);

}  // namespace dlo::harness
