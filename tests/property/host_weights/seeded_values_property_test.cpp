// Goal: any slice of a seeded tensor equals that part of the whole, and the wide loop gives the
// values that its definition gives one by one. Method: drawn names, seeds, slices and scales.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/value_generator.h"
#include "host_weights/seeded_checkpoint/seeded_checkpoint.h"

namespace dlo::host_weights {
namespace {

struct Draw {
  SeededTensor tensor;
  std::uint64_t seed = 0;
  std::int64_t count = 0;
};

Draw draw() {
  Draw drawn;
  drawn.seed = *rc::gen::arbitrary<std::uint64_t>();
  drawn.count = *rc::gen::inRange<std::int64_t>(1, 300);
  drawn.tensor.name = *rc::gen::string<std::string>();
  drawn.tensor.shape = {drawn.count};
  drawn.tensor.mean = *rc::gen::element(0.0F, 1.0F);
  drawn.tensor.scale = *rc::gen::element(0.02F, 0.0625F, 0.013975425F);
  return drawn;
}

RC_GTEST_PROP(SeededTensor, AnySlice_EqualsThePartOfTheWhole, ()) {
  const Draw drawn = draw();
  const DType dtype = *rc::gen::element(DType::kF32, DType::kBF16);
  const std::uint64_t width = dtype_bits(dtype) / 8;
  const auto first = *rc::gen::inRange<std::uint64_t>(0, static_cast<std::uint64_t>(drawn.count));
  const auto length =
      *rc::gen::inRange<std::uint64_t>(0, static_cast<std::uint64_t>(drawn.count) - first + 1);
  std::vector<std::byte> whole(static_cast<std::uint64_t>(drawn.count) * width);
  std::vector<std::byte> slice(length * width);
  fill_seeded_tensor(drawn.tensor, drawn.seed, dtype, 0, whole);
  fill_seeded_tensor(drawn.tensor, drawn.seed, dtype, first, slice);
  RC_ASSERT(std::equal(slice.begin(), slice.end(),
                       whole.begin() + static_cast<std::ptrdiff_t>(first * width)));
}

RC_GTEST_PROP(SeededTensor, EveryElement_IsMeanPlusScaledNormal, ()) {
  const Draw drawn = draw();
  const ValueGenerator values(drawn.tensor.name, drawn.seed);
  std::vector<float> wide(static_cast<std::size_t>(drawn.count));
  std::vector<std::uint16_t> narrow(wide.size());
  fill_seeded_tensor(drawn.tensor, drawn.seed, DType::kF32, 0,
                     std::as_writable_bytes(std::span(wide)));
  fill_seeded_tensor(drawn.tensor, drawn.seed, DType::kBF16, 0,
                     std::as_writable_bytes(std::span(narrow)));
  for (std::size_t i = 0; i < wide.size(); ++i) {
    const float scaled = drawn.tensor.scale * values.normal(i);
    RC_ASSERT(wide[i] == drawn.tensor.mean + scaled);
    RC_ASSERT(narrow[i] == float_to_bf16(wide[i]));
  }
}

}  // namespace
}  // namespace dlo::host_weights
