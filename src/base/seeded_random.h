// Owns: SeededRandom, the sequential random source of the simulator and of fault plans: one seed,
// one sequence, on every machine (SplitMix64; Steele, Lea, Flood 2014).
// Must not own: test weights (base/value_generator.h, which is indexed, not sequential).
#pragma once

#include <cstdint>

#include "base/error.h"

namespace dlo {

class SeededRandom {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}

  [[nodiscard]] std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
  }

  // Uniform in [0, bound). The modulo bias is below 2^-32 for the small bounds used here.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) {
    require(bound > 0, "SeededRandom::below needs a positive bound");
    return next() % bound;
  }

  // True with probability `percent` / 100.
  [[nodiscard]] bool chance(std::uint32_t percent) { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

}  // namespace dlo
