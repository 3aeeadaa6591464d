// Owns: the synthetic jobs that mutants are tried on: few, small, with a slow link or slow kernels,
// and between them every place that a mutant can hide in.
// Must not own: mutants, expectations.
#pragma once

#include <string>
#include <vector>

#include "tests/property/backend/synthetic_job.h"

namespace dlo::test {

struct NamedJob {
  std::string name;
  SyntheticJob job;
};

// Each copy, each packing of a chunk takes 2 ms more; each compute, each gather 5 ms.
[[nodiscard]] Decorate slow_copies();
[[nodiscard]] Decorate slow_computes();
[[nodiscard]] Decorate slow_gathers();
[[nodiscard]] Decorate slow_packs();

// Odd and even rings of uneven blocks, larger than the number of slots (a ring that fits its slots
// reloads equal bytes, so that a missing free wait cannot show), depth 1 and 2, rank-local and
// AllGather of two ranks, whole blocks and chunks, and staged from mapped files through a ring of
// two chunks, and of three with workers; each alone and as a DiT with a child of two blocks that is
// walked before it. `decorate` goes around every rank's device.
[[nodiscard]] std::vector<NamedJob> mutant_jobs(const Decorate& decorate);

// True when the outcome of some rank is not that of a good run: another digest, wrong bytes, an
// error, traffic that is not the plan's, or blocks loaded again. `why` says what was seen first.
[[nodiscard]] bool detected(const SyntheticJob& job, std::string& why);

}  // namespace dlo::test
