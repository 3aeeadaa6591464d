// Owns: the counter-based generator of test weights and inputs: value i of stream (name, seed) is
// a pure function of (name, seed, i), so any rank, machine or thread count makes the same bytes
// and any slice can be made alone. Philox-like quality is not needed; SplitMix64's finaliser is
// applied to a keyed counter (Steele, Lea, Flood 2014).
// Must not own: scales of layers or file layouts (host_weights/seeded_checkpoint).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/dtype.h"

namespace dlo {

class ValueGenerator {
 public:
  ValueGenerator(std::string_view name, std::uint64_t seed);

  // 64 well-mixed bits for counter `index`.
  [[nodiscard]] std::uint64_t bits(std::uint64_t index) const;

  // Uniform in [-1, 1), 24 bits of resolution.
  [[nodiscard]] float uniform(std::uint64_t index) const;

  // Approximately normal, mean 0, variance 1, |value| < 3.5: the sum of four 16-bit uniforms.
  // Integer arithmetic and one rounding, hence equal on every machine.
  [[nodiscard]] float normal(std::uint64_t index) const;

  // Fills `out` with elements [first_index, ...) of `mean + scale * normal(i)` in F32 or BF16
  // (round to nearest even). Precondition: out.size() is a multiple of the element size.
  void fill_normal(ByteSpan out, DType dtype, std::uint64_t first_index, float mean,
                   float scale) const;

 private:
  std::uint64_t key_;
};

// Round-to-nearest-even conversion of one float to the upper half of its bits.
[[nodiscard]] std::uint16_t float_to_bf16(float value);

}  // namespace dlo
