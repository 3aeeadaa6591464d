#include "base/dtype.h"

#include <array>

#include "base/error.h"

namespace dlo {

namespace {

struct DTypeRow {
  DType dtype;
  std::string_view name;
  std::uint32_t bits;
};

constexpr std::array kRows = {
    DTypeRow{DType::kBool, "BOOL", 8},
    DTypeRow{DType::kF4, "F4", 4},
    DTypeRow{DType::kF6E2M3, "F6_E2M3", 6},
    DTypeRow{DType::kF6E3M2, "F6_E3M2", 6},
    DTypeRow{DType::kU8, "U8", 8},
    DTypeRow{DType::kI8, "I8", 8},
    DTypeRow{DType::kF8E5M2, "F8_E5M2", 8},
    DTypeRow{DType::kF8E4M3, "F8_E4M3", 8},
    DTypeRow{DType::kF8E8M0, "F8_E8M0", 8},
    DTypeRow{DType::kF8E4M3Fnuz, "F8_E4M3FNUZ", 8},
    DTypeRow{DType::kF8E5M2Fnuz, "F8_E5M2FNUZ", 8},
    DTypeRow{DType::kI16, "I16", 16},
    DTypeRow{DType::kU16, "U16", 16},
    DTypeRow{DType::kF16, "F16", 16},
    DTypeRow{DType::kBF16, "BF16", 16},
    DTypeRow{DType::kI32, "I32", 32},
    DTypeRow{DType::kU32, "U32", 32},
    DTypeRow{DType::kF32, "F32", 32},
    DTypeRow{DType::kC64, "C64", 64},
    DTypeRow{DType::kF64, "F64", 64},
    DTypeRow{DType::kI64, "I64", 64},
    DTypeRow{DType::kU64, "U64", 64},
};

const DTypeRow& row_of(DType dtype) {
  for (const auto& row : kRows) {
    if (row.dtype == dtype) {
      return row;
    }
  }
  throw LogicError("dtype without a row in the table");
}

}  // namespace

std::string_view dtype_name(DType dtype) {
  return row_of(dtype).name;
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const auto& row : kRows) {
    if (row.name == name) {
      return row.dtype;
    }
  }
  return std::nullopt;
}

std::uint32_t dtype_bits(DType dtype) {
  return row_of(dtype).bits;
}

}  // namespace dlo
