// Owns: byte units, alignment helpers and overflow-checked arithmetic on sizes.
// Must not own: sizes of particular layouts (contracts/block_layout.h).
// Pure functions; a size that does not fit 64 bits is an empty optional, never a wrapped number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace dlo {

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;
inline constexpr std::uint64_t kGiB = 1024 * kMiB;

// 256: the allocation granularity of CUDA and NCCL's internal alignment; every tensor of a block
// starts on it so that kernels choose the same code in every mode.
inline constexpr std::uint64_t kTensorAlignmentBytes = 256;

using ByteSpan = std::span<std::byte>;
using ConstByteSpan = std::span<const std::byte>;

// Smallest multiple of `step` that is not below `value`. Precondition: step > 0, no overflow.
[[nodiscard]] constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t step) {
  return (value + step - 1) / step * step;
}

[[nodiscard]] constexpr std::uint64_t ceil_divide(std::uint64_t value, std::uint64_t step) {
  return (value + step - 1) / step;
}

// Empty when the result would not fit 64 bits.
[[nodiscard]] constexpr std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::nullopt : std::optional<std::uint64_t>(sum);
}

[[nodiscard]] constexpr std::optional<std::uint64_t> checked_multiply(std::uint64_t a,
                                                                      std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::nullopt
                                                : std::optional<std::uint64_t>(product);
}

// "1.50 GiB", "12 B": for people, not for parsing.
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);

}  // namespace dlo
