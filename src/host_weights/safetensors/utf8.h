// Owns: the check that bytes are UTF-8 as Rust's str demands: no overlong form, no surrogate,
// nothing above U+10FFFF. Must not own: conversion. Threading: pure function, never fails.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace dlo::host_weights {

// Index of the first byte that does not continue a valid text; empty when all of it is valid.
[[nodiscard]] std::optional<std::size_t> first_invalid_utf8(std::string_view text);

}  // namespace dlo::host_weights
