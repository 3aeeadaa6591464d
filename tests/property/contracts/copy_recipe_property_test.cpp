// Goal: executing a recipe equals moving its elements one at a time, and check_recipe accepts a
// recipe exactly when its boxes partition the tensor.
// Method: the tensor is cut into boxes at random; each takes its elements from a random place of a
// larger source; a slow element-wise copy is the reference. Then one box is dropped or doubled.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <vector>

#include "contracts/copy_recipe.h"

namespace dlo::contracts {
namespace {

using Index = std::vector<std::int64_t>;

// Cuts `box` along random dimensions into up to 2^depth parts.
void cut(const Box& box, int depth, std::vector<Box>& parts) {
  std::vector<std::size_t> splittable;
  for (std::size_t d = 0; d < box.extent.size(); ++d) {
    if (box.extent[d] > 1) {
      splittable.push_back(d);
    }
  }
  if (depth == 0 || splittable.empty() || *rc::gen::inRange(0, 4) == 0) {
    parts.push_back(box);
    return;
  }
  const auto d = *rc::gen::elementOf(splittable);
  const auto first = *rc::gen::inRange<std::int64_t>(1, box.extent[d]);
  Box low = box;
  Box high = box;
  low.extent[d] = first;
  high.start[d] += first;
  high.extent[d] -= first;
  cut(low, depth - 1, parts);
  cut(high, depth - 1, parts);
}

struct Drawn {
  Shape shape;
  Shape source_shape;
  CopyRecipe recipe;
};

Drawn draw_recipe() {
  Drawn drawn;
  const auto rank = *rc::gen::inRange<std::size_t>(0, 5);
  for (std::size_t d = 0; d < rank; ++d) {
    drawn.shape.push_back(*rc::gen::inRange<std::int64_t>(1, 7));
    drawn.source_shape.push_back(drawn.shape[d] + *rc::gen::inRange<std::int64_t>(0, 4));
  }
  std::vector<Box> parts;
  cut(Box{Index(rank, 0), drawn.shape}, 3, parts);
  for (const auto& destination : parts) {
    Box source = destination;
    for (std::size_t d = 0; d < rank; ++d) {
      source.start[d] =
          *rc::gen::inRange<std::int64_t>(0, drawn.source_shape[d] - source.extent[d] + 1);
    }
    drawn.recipe.copies.push_back(BoxCopy{"w", source, destination});
  }
  return drawn;
}

std::uint64_t flat(const Shape& shape, const Index& index) {
  std::uint64_t place = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    place = place * static_cast<std::uint64_t>(shape[d]) + static_cast<std::uint64_t>(index[d]);
  }
  return place;
}

// Next index inside `extent`, last dimension fastest; false after the last one.
bool advance(Index& index, const Index& extent) {
  for (std::size_t d = index.size(); d-- > 0;) {
    if (++index[d] < extent[d]) {
      return true;
    }
    index[d] = 0;
  }
  return false;
}

Index shifted(const Index& start, const Index& by) {
  Index sum = start;
  for (std::size_t d = 0; d < sum.size(); ++d) {
    sum[d] += by[d];
  }
  return sum;
}

template <typename Element>
void copy_one_by_one(const BoxCopy& copy, const std::vector<Element>& source,
                     const Shape& source_shape, std::vector<Element>& out, const Shape& shape) {
  Index offset(copy.source.extent.size(), 0);
  do {
    out[flat(shape, shifted(copy.destination.start, offset))] =
        source[flat(source_shape, shifted(copy.source.start, offset))];
  } while (advance(offset, copy.source.extent));
}

template <typename Element>
void expect_equal_to_reference(const Drawn& drawn, DType dtype) {
  std::vector<Element> source(*element_count(drawn.source_shape));
  for (std::size_t i = 0; i < source.size(); ++i) {
    source[i] = static_cast<Element>(i + 1);
  }
  std::vector<Element> wanted(*element_count(drawn.shape));
  std::vector<Element> got(wanted.size());
  const TensorView view{dtype, drawn.source_shape, std::as_bytes(std::span(source))};
  for (const auto& copy : drawn.recipe.copies) {
    copy_one_by_one(copy, source, drawn.source_shape, wanted, drawn.shape);
    RC_ASSERT(
        execute_copy(copy, view, drawn.shape, dtype, std::as_writable_bytes(std::span(got))).ok());
  }
  RC_ASSERT(got == wanted);
}

RC_GTEST_PROP(CopyRecipe, Executed_EqualsElementWiseCopy, ()) {
  const auto drawn = draw_recipe();
  if (*rc::gen::arbitrary<bool>()) {
    expect_equal_to_reference<std::uint16_t>(drawn, DType::kBF16);
  } else {
    expect_equal_to_reference<std::uint64_t>(drawn, DType::kI64);
  }
}

RC_GTEST_PROP(CheckRecipe, Partition_IsAccepted, ()) {
  const auto drawn = draw_recipe();
  RC_ASSERT(check_recipe(drawn.recipe, drawn.shape).ok());
}

RC_GTEST_PROP(CheckRecipe, DroppedBox_IsRefused, ()) {
  auto drawn = draw_recipe();
  const auto victim = *rc::gen::inRange<std::size_t>(0, drawn.recipe.copies.size());
  drawn.recipe.copies.erase(drawn.recipe.copies.begin() + static_cast<std::ptrdiff_t>(victim));
  RC_ASSERT(!check_recipe(drawn.recipe, drawn.shape).ok());
}

// Twice the same box in place of another one of its size: the count of elements is right.
RC_GTEST_PROP(CheckRecipe, DoubledBox_IsRefused, ()) {
  auto drawn = draw_recipe();
  const auto victim = *rc::gen::inRange<std::size_t>(0, drawn.recipe.copies.size());
  auto doubled = drawn.recipe.copies[victim];
  for (auto& copy : drawn.recipe.copies) {
    if (copy.destination.extent == doubled.destination.extent &&
        copy.destination.start != doubled.destination.start) {
      copy = doubled;
      RC_ASSERT(!check_recipe(drawn.recipe, drawn.shape).ok());
      return;
    }
  }
  drawn.recipe.copies.push_back(doubled);
  RC_ASSERT(!check_recipe(drawn.recipe, drawn.shape).ok());
}

}  // namespace
}  // namespace dlo::contracts
