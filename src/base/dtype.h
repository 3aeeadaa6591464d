// Owns: DType, the element types of the safetensors format, with their names and bit widths.
// Must not own: conversion of values, or what a reader accepts (host_weights/safetensors).
// Pure functions; a name that the format does not know is an empty optional.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dlo {

enum class DType : std::uint8_t {
  kBool,
  kF4,
  kF6E2M3,
  kF6E3M2,
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kF8E8M0,
  kF8E4M3Fnuz,
  kF8E5M2Fnuz,
  kI16,
  kU16,
  kF16,
  kBF16,
  kI32,
  kU32,
  kF32,
  kC64,
  kF64,
  kI64,
  kU64,
};

// Name as written in a safetensors header: "BF16", "F32", ...
[[nodiscard]] std::string_view dtype_name(DType dtype);

// Inverse of dtype_name; empty for a name that the format does not know. Case matters.
[[nodiscard]] std::optional<DType> dtype_from_name(std::string_view name);

// Width of one element in bits (4 and 6 exist, hence not bytes).
[[nodiscard]] std::uint32_t dtype_bits(DType dtype);

}  // namespace dlo
