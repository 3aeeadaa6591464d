// Goal: every element type of the safetensors format has its own name and its width.
// Method: the whole list, written a second time here from the format's description.
#include "base/dtype.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

#include "base/error.h"

namespace dlo {
namespace {

struct Expected {
  const char* name;
  std::uint32_t bits;
};

constexpr std::array kExpected = {
    Expected{"BOOL", 8},    Expected{"F4", 4},          Expected{"F6_E2M3", 6},
    Expected{"F6_E3M2", 6}, Expected{"U8", 8},          Expected{"I8", 8},
    Expected{"F8_E5M2", 8}, Expected{"F8_E4M3", 8},     Expected{"F8_E8M0", 8},
    Expected{"I16", 16},    Expected{"F8_E4M3FNUZ", 8}, Expected{"F8_E5M2FNUZ", 8},
    Expected{"U16", 16},    Expected{"F16", 16},        Expected{"BF16", 16},
    Expected{"I32", 32},    Expected{"U32", 32},        Expected{"F32", 32},
    Expected{"C64", 64},    Expected{"F64", 64},        Expected{"I64", 64},
    Expected{"U64", 64}};

TEST(DType, EveryFormatName_RoundTripsWithItsWidth) {
  std::set<DType> seen;
  for (const auto& expected : kExpected) {
    const auto dtype = dtype_from_name(expected.name);
    ASSERT_TRUE(dtype.has_value()) << expected.name;
    EXPECT_EQ(dtype_name(*dtype), expected.name);
    EXPECT_EQ(dtype_bits(*dtype), expected.bits) << expected.name;
    EXPECT_TRUE(seen.insert(*dtype).second) << expected.name;
  }
}

TEST(DType, UnknownOrMiscasedName_IsEmpty) {
  for (const auto* name : {"", "f32", "Float32", "F32 ", "F128"}) {
    EXPECT_EQ(dtype_from_name(name), std::nullopt) << name;
  }
}

TEST(DType, ValueOutsideTheEnum_Throws) {
  EXPECT_THROW(static_cast<void>(dtype_name(static_cast<DType>(200))), LogicError);
}

}  // namespace
}  // namespace dlo
