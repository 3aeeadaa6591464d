// Owns: how far two outputs of F32 values are apart: root mean square of the differences as a share
// of the expected one's. Must not own: tolerances. Header only; pure.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

namespace dlo::test {

// NaN when a value is one, or when nothing is expected but zeros.
inline double relative_error(const std::vector<std::byte>& computed,
                             const std::vector<std::byte>& expected) {
  EXPECT_EQ(computed.size(), expected.size());
  double difference = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < expected.size(); i += sizeof(float)) {
    float a = 0.0F;
    float b = 0.0F;
    std::memcpy(&a, computed.data() + i, sizeof(a));
    std::memcpy(&b, expected.data() + i, sizeof(b));
    difference += std::pow(static_cast<double>(a) - static_cast<double>(b), 2);
    size += std::pow(static_cast<double>(b), 2);
  }
  return std::sqrt(difference / size);
}

}  // namespace dlo::test
