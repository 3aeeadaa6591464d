#include "harness/cli/command.h"

#include <ostream>

namespace dlo::harness {

void say_error(const CommandContext& context, const Refusal& refusal) {
  context.err << "dlo: " << refusal.message() << std::endl;
}

Status agree_on_step(const CommandContext& context, const char* step, const Status& mine) {
  const Status agreed = comm::vote(context.world.control(), step, mine,
                                   Deadline::after(context.clock.now(), kStepTimeout));
  // Where rank 0 refuses too, its own words need no "rank 0" in them.
  return !agreed && !mine ? mine : agreed;
}

}  // namespace dlo::harness
