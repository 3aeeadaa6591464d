#include "engine/simulation/simulated_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/seeded_random.h"

namespace dlo::engine {

namespace {

constexpr std::array<std::uint32_t, 12> kRingSizes = {1, 2, 2, 3, 3, 3, 4, 4, 5, 5, 7, 7};
// One ring in so many is long: 72 blocks cost twenty times a usual case.
constexpr std::uint64_t kLongRingOneIn = 50;
constexpr std::uint32_t kLongRing = 72;

std::uint32_t draw_ring_size(SeededRandom& random) {
  return random.below(kLongRingOneIn) == 0 ? kLongRing
                                           : kRingSizes.at(random.below(kRingSizes.size()));
}

std::uint32_t draw_between(SeededRandom& random, std::uint32_t low, std::uint32_t high) {
  return low + static_cast<std::uint32_t>(random.below(high - low + 1));
}

// Half of the cases have one or two ranks; every size up to 8 appears.
std::uint32_t draw_ranks(SeededRandom& random) {
  return random.chance(50) ? draw_between(random, 2, 3) : draw_between(random, 1, 8);
}

}  // namespace

std::vector<std::size_t> SimulatedCase::walk_order() const {
  std::vector<std::size_t> order(ring_blocks.size());
  std::iota(order.begin(), order.end(), 0);
  if (children) {
    std::rotate(order.begin(), order.begin() + 1, order.end());
  }
  return order;
}

std::uint64_t SimulatedCase::forwards() const {
  return static_cast<std::uint64_t>(requests) * walks_per_request * ring_blocks.size();
}

std::string SimulatedCase::text() const {
  return fmt::format(
      "rings {}{}, {} ranks {}, depth {}, {} input slots, chunks of {} bytes, {}{}, {} resident "
      "layers, {} requests of {} walks{}{}, shape seed {}",
      fmt::join(ring_blocks, "+"), children ? ", children of the first" : "", ranks,
      use_allgather ? "all_gather" : "rank_local", prefetch_depth, input_slots, chunk_bytes,
      pin_cpu_memory ? "pinned" : "pageable",
      mapped ? fmt::format(", mapped with staging of {} in chunks of {}", staging_bytes,
                           staging_chunk_bytes)
             : "",
      resident_layers, requests, walks_per_request, skip_blocks ? " with skipped blocks" : "",
      two_lists ? ", two block lists" : "", shape_seed);
}

SimulatedCase draw_case(std::uint64_t seed) {
  SeededRandom random(seed);
  SimulatedCase drawn;
  drawn.ring_blocks = {draw_ring_size(random)};
  if (random.chance(25)) {
    drawn.ring_blocks.push_back(draw_ring_size(random));
  }
  drawn.use_allgather = random.chance(60);
  drawn.ranks = drawn.use_allgather ? draw_ranks(random) : 1;
  drawn.pin_cpu_memory = random.chance(85);
  drawn.prefetch_depth = draw_between(random, 1, 4);
  drawn.input_slots = draw_between(random, 1, 3);
  drawn.chunk_bytes = random.chance(40) ? 0 : 256 * draw_between(random, 1, 4);
  drawn.requests = draw_between(random, 1, 2);
  drawn.walks_per_request = draw_between(random, 1, 3);
  drawn.skip_blocks = !drawn.use_allgather && random.chance(30);
  drawn.shape_seed = random.below(64);
  drawn.mapped = random.chance(50);
  if (random.chance(60)) {
    drawn.staging_chunk_bytes = 256 * draw_between(random, 1, 4);
    drawn.staging_bytes = drawn.staging_chunk_bytes * draw_between(random, 2, 4);
  }
  if (!drawn.use_allgather && random.chance(25)) {
    drawn.resident_layers = draw_between(random, 1, 4);
  }
  drawn.two_lists = random.chance(15);
  drawn.children = drawn.ring_blocks.size() > 1 && random.chance(50);
  if (drawn.children && random.chance(30)) {
    drawn.ring_blocks.push_back(draw_ring_size(random));
  }
  return drawn;
}

SimulatedCase draw_case_over(std::uint32_t ranks, std::uint64_t seed) {
  SimulatedCase drawn = draw_case(seed);
  drawn.use_allgather = true;
  drawn.ranks = ranks;
  drawn.skip_blocks = false;
  drawn.resident_layers = 0;
  return drawn;
}

std::vector<SimulatedCase> smaller_cases(const SimulatedCase& failing) {
  std::vector<SimulatedCase> smaller;
  const auto with = [&](const auto& change) {
    SimulatedCase candidate = failing;
    change(candidate);
    candidate.children = candidate.children && candidate.ring_blocks.size() > 1;
    if (candidate != failing) {
      smaller.push_back(std::move(candidate));
    }
  };
  with([](SimulatedCase& c) { c.ring_blocks.resize(1); });
  with([](SimulatedCase& c) { c.ring_blocks.resize(c.ring_blocks.size() > 2 ? 2 : 1); });
  for (std::size_t ring = 0; ring < failing.ring_blocks.size(); ++ring) {
    with([ring](SimulatedCase& c) { c.ring_blocks[ring] = (c.ring_blocks[ring] + 1) / 2; });
    with([ring](SimulatedCase& c) { c.ring_blocks[ring] -= c.ring_blocks[ring] > 1 ? 1U : 0U; });
  }
  with([](SimulatedCase& c) { c.ranks = c.use_allgather && c.ranks > 2 ? 2 : c.ranks; });
  with([](SimulatedCase& c) { c.ranks -= c.use_allgather && c.ranks > 2 ? 1U : 0U; });
  with([](SimulatedCase& c) { c.requests = 1; });
  with([](SimulatedCase& c) { c.walks_per_request -= c.walks_per_request > 1 ? 1U : 0U; });
  with([](SimulatedCase& c) { c.chunk_bytes = 0; });
  with([](SimulatedCase& c) { c.prefetch_depth -= c.prefetch_depth > 1 ? 1U : 0U; });
  with([](SimulatedCase& c) { c.skip_blocks = false; });
  with([](SimulatedCase& c) { c.children = false; });
  with([](SimulatedCase& c) { c.two_lists = false; });
  with([](SimulatedCase& c) { c.resident_layers = 0; });
  with([](SimulatedCase& c) { c.mapped = false; });
  with([](SimulatedCase& c) { c.staging_bytes = c.staging_chunk_bytes = 0; });
  return smaller;
}

}  // namespace dlo::engine
