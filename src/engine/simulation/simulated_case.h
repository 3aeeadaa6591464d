// Owns: SimulatedCase, one point of the space that exploration walks: rings, ranks, transfer,
// depths, chunks, what the caller does; and the drawing of cases from seeds.
// Must not own: schedules (the kernel draws those) or verdicts (simulated_run.h). Pure values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace dlo::engine {

struct SimulatedCase {
  std::vector<std::uint32_t> ring_blocks = {3};  // by ring
  bool children = false;                         // the other rings are children of the first
  std::uint32_t ranks = 1;                       // size of the weight group
  bool use_allgather = false;
  bool pin_cpu_memory = true;
  bool mapped = false;  // the host tensors lie in mapped files: staged, or AllGather from a mapping
  std::uint32_t prefetch_depth = 1;
  std::uint32_t input_slots = 2;
  std::uint64_t chunk_bytes = 0;          // per rank and chunk; 0: whole block
  std::uint64_t staging_chunk_bytes = 0;  // 0: the product's default
  std::uint64_t staging_bytes = 0;        // of the ring; 0: from the largest block
  std::uint32_t resident_layers = 0;      // of every ring; without AllGather alone
  std::uint32_t requests = 1;
  std::uint32_t walks_per_request = 2;  // walks of each ring, the rings one after the other
  bool skip_blocks = false;             // leave blocks out at random; rank-local only
  bool two_lists = false;               // blocks of two sizes, 2.4 : 1, as FLUX.1 has them
  std::uint64_t shape_seed = 1;

  // Rings in the order in which they are walked: children before their parent.
  [[nodiscard]] std::vector<std::size_t> walk_order() const;
  // Forwards that one rank makes.
  [[nodiscard]] std::uint64_t forwards() const;
  // "rings 3+5, 4 ranks all_gather, depth 2, chunks of 512, ...", for failure reports.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const SimulatedCase&, const SimulatedCase&) = default;
};

[[nodiscard]] nlohmann::json case_to_json(const SimulatedCase& simulated);
// Keys that are missing keep their defaults. Codes: unknown_option with the nearest name,
// invalid_value for a wrong type or a number outside what the hot path takes.
[[nodiscard]] Result<SimulatedCase> case_from_json(const nlohmann::json& json);

// The case of `seed` in the general space: rings of 1, 2, 3, 4, 5, 7 and, rarely, 72 blocks, one or
// two of them, by turns or one a child of the other, or a DiT with two children, 1 to 8 ranks,
// depth 1 to 4, one chunk or many, drains, skipped blocks, private and mapped host tensors, small
// staging rings, resident leading blocks, rings of two block sizes.
[[nodiscard]] SimulatedCase draw_case(std::uint64_t seed);
// The same with AllGather over `ranks`, whatever the seed drew, and without what AllGather refuses.
[[nodiscard]] SimulatedCase draw_case_over(std::uint32_t ranks, std::uint64_t seed);

// Smaller neighbours of `failing`, most promising first: fewer ranks, rings, blocks, requests,
// walks, chunks, depth. Empty for the smallest case.
[[nodiscard]] std::vector<SimulatedCase> smaller_cases(const SimulatedCase& failing);

}  // namespace dlo::engine
