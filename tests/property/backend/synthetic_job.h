// Owns: SyntheticJob: the real backend over a synthetic model on W ranks as threads, each with a
// CPU device of its own, decorated as the test wants; and what came of it, rank by rank.
// Must not own: expectations. Used by the property tests and, linked against mutated libraries, by
// the mutation tests.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/offload_backend.h"
#include "synthetic/synthetic_mapping.h"
#include "synthetic/synthetic_model.h"

namespace dlo::test {

using Decorate =
    std::function<std::unique_ptr<platform::Device>(int rank, std::unique_ptr<platform::Device>)>;

// One forward of one ring.
struct Walk {
  std::size_t ring = 0;
  std::vector<std::uint32_t> order;  // empty: the whole ring in order
};

struct SyntheticJob {
  synthetic::SyntheticShape shape;
  config::OffloadConfig config;  // dp_size = ranks of the weight group
  int ranks = 1;
  backend::GroupAxis axis = backend::GroupAxis::kData;        // of the group, where there is one
  std::vector<std::vector<Walk>> requests;                    // walks by request
  std::map<int, std::vector<std::vector<Walk>>> requests_of;  // by rank, in place of `requests`
  bool mapped = false;           // the host tensors lie in mapped files
  std::size_t pack_threads = 1;  // above 1: with workers
  // Called when a request is over; with mapped tensors, on rank 0.
  std::function<void(synthetic::SyntheticMapping&)> after_request;
  Decorate decorate;  // may be empty
  Nanoseconds timeout = 30 * kSecond;
};

struct RankOutcome {
  std::string code;     // of the refusal or run error that ended the rank; empty when it went well
  std::string message;  // the same in words
  synthetic::Findings findings;
  std::uint64_t digest = 0;
  backend::Traffic measured;
  backend::Traffic planned;
  std::uint64_t repairs = 0;
  backend::MemoryPlan memory;
  contracts::EffectiveTransfer effective;
  std::uint64_t device_peak_bytes = 0;
  std::uint64_t pinned_peak_bytes = 0;
  std::uint64_t bytes_left = 0;  // device, pinned and pageable after disable()
  std::uint64_t host_tensors_left_bytes = 0;
  std::size_t mapped_after_enable = 0;  // tensors whose files were still mapped
  std::size_t mapped_left = 0;          // the same after disable()
  bool untouched_after = false;         // every binding at its placeholder, without places
  std::vector<std::string> steps;
  std::vector<std::string> problems;  // of disable()

  // All of it as it should be, given the digest of the resident run.
  [[nodiscard]] bool good(std::uint64_t resident_digest) const;
  // For failure messages.
  [[nodiscard]] std::string text() const;
};

// Runs the job to its end; every rank's outcome, index = rank.
[[nodiscard]] std::vector<RankOutcome> run_job(const SyntheticJob& job);

// Digest of the same walks with everything resident, from private tensors, on one rank.
[[nodiscard]] std::uint64_t resident_digest(const SyntheticJob& job);

// A configuration of distributed layerwise offload; dp_size 1 means rank-local.
[[nodiscard]] config::OffloadConfig streaming_config(std::uint32_t dp_size, std::uint32_t depth,
                                                     std::uint64_t chunk_bytes);

// `requests` requests of `steps` walks of every ring each, the rings one after the other.
[[nodiscard]] std::vector<std::vector<Walk>> whole_walks(std::size_t rings, std::uint32_t requests,
                                                         std::uint32_t steps);

// `requests` requests of `steps` forwards of a DiT whose other rings are its children: these first.
[[nodiscard]] std::vector<std::vector<Walk>> whole_forwards(std::size_t rings,
                                                            std::uint32_t requests,
                                                            std::uint32_t steps);

}  // namespace dlo::test
