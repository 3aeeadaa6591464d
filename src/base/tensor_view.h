// Owns: non-owning views: Shape helpers, TensorView over host bytes, DeviceSpan over device bytes.
// Must not own: memory. The owner of the bytes outlives every view of them.
// Failure: sizes that do not fit are empty optionals; leaving a span throws LogicError.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/dtype.h"

namespace dlo {

// Extents per dimension, outermost first; empty means a scalar (one element).
using Shape = std::vector<std::int64_t>;

// "[2, 3]" for messages.
[[nodiscard]] std::string shape_text(const Shape& shape);

// Number of elements; empty on overflow or a negative extent.
[[nodiscard]] std::optional<std::uint64_t> element_count(const Shape& shape);

// Bytes of a contiguous tensor, rounded up to whole bytes; empty on overflow.
[[nodiscard]] std::optional<std::uint64_t> tensor_bytes(const Shape& shape, DType dtype);

// A contiguous tensor in host memory.
struct TensorView {
  DType dtype = DType::kF32;
  Shape shape;
  ConstByteSpan bytes;
};

// A range of device memory (on the CPU platform: budgeted host memory that plays its part).
struct DeviceSpan {
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;

  [[nodiscard]] DeviceSpan subspan(std::uint64_t offset_bytes, std::uint64_t length_bytes) const;
  friend bool operator==(const DeviceSpan&, const DeviceSpan&) = default;
};

}  // namespace dlo
