// Owns: what a person sees while scenarios run: one line that counts on a terminal, nothing in a
// pipe, and a line for each scenario that fell short as soon as it does.
// Must not own: the summary at the end (summary.h). Only rank 0 has one that speaks.
#pragma once

#include <iosfwd>
#include <string>

#include "harness/results.h"

namespace dlo::harness {

class Progress {
 public:
  // `out` outlives the object. On a terminal the running line is overwritten in place.
  Progress(std::ostream& out, bool terminal, bool speaks);

  void begin(std::size_t index, std::size_t count, const std::string& name);
  void end(const ScenarioResult& result);
  // Clears the running line.
  void finish();

 private:
  std::ostream& out_;
  bool terminal_;
  bool speaks_;
};

}  // namespace dlo::harness
