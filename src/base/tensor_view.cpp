#include "base/tensor_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace dlo {

std::string shape_text(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::optional<std::uint64_t> element_count(const Shape& shape) {
  std::uint64_t count = 1;
  for (const auto extent : shape) {
    if (extent < 0) {
      return std::nullopt;
    }
    const auto product = checked_multiply(count, static_cast<std::uint64_t>(extent));
    if (!product) {
      return std::nullopt;
    }
    count = *product;
  }
  return count;
}

std::optional<std::uint64_t> tensor_bytes(const Shape& shape, DType dtype) {
  const auto count = element_count(shape);
  if (!count) {
    return std::nullopt;
  }
  const auto bits = checked_multiply(*count, dtype_bits(dtype));
  return bits ? std::optional<std::uint64_t>(ceil_divide(*bits, 8)) : std::nullopt;
}

DeviceSpan DeviceSpan::subspan(std::uint64_t offset_bytes, std::uint64_t length_bytes) const {
  require(offset_bytes <= bytes && length_bytes <= bytes - offset_bytes,
          "DeviceSpan::subspan leaves the span");
  return DeviceSpan{data + offset_bytes, length_bytes};
}

}  // namespace dlo
