#include "contracts/copy_recipe.h"

#include <algorithm>
#include <cstring>

#include "base/codes.h"

namespace dlo::contracts {

namespace {

std::uint64_t box_elements(const Box& box) {
  std::uint64_t count = 1;
  for (const auto extent : box.extent) {
    count *= static_cast<std::uint64_t>(extent);
  }
  return count;
}

// What can be said of a source box without its tensor.
bool box_is_well_formed(const Box& box) {
  return box.start.size() == box.extent.size() &&
         std::all_of(box.start.begin(), box.start.end(), [](auto start) { return start >= 0; });
}

bool boxes_overlap(const Box& a, const Box& b) {
  if (box_elements(a) == 0 || box_elements(b) == 0) {
    return false;
  }
  for (std::size_t d = 0; d < a.start.size(); ++d) {
    if (a.start[d] + a.extent[d] <= b.start[d] || b.start[d] + b.extent[d] <= a.start[d]) {
      return false;
    }
  }
  return true;
}

// Element offset of the box's first element plus `outer`-indexed rows; the last `run_dims`
// dimensions are copied as one run.
std::uint64_t row_offset(const Box& box, const Shape& shape, std::size_t outer_dims,
                         std::uint64_t row) {
  std::uint64_t stride = 1;
  for (std::size_t d = outer_dims; d < shape.size(); ++d) {
    stride *= static_cast<std::uint64_t>(shape[d]);
  }
  std::uint64_t inner_stride = 1;
  std::uint64_t offset = 0;
  for (std::size_t d = shape.size(); d-- > outer_dims;) {
    offset += static_cast<std::uint64_t>(box.start[d]) * inner_stride;
    inner_stride *= static_cast<std::uint64_t>(shape[d]);
  }
  for (std::size_t d = outer_dims; d-- > 0;) {
    const auto extent = static_cast<std::uint64_t>(box.extent[d]);
    offset += (static_cast<std::uint64_t>(box.start[d]) + row % extent) * stride;
    row /= extent;
    stride *= static_cast<std::uint64_t>(shape[d]);
  }
  return offset;
}

// Number of leading dimensions that must be walked; the rest is contiguous in both tensors.
std::size_t outer_dimension_count(const Box& box, const Shape& a, const Shape& b) {
  std::size_t outer = box.extent.size();
  while (outer > 0) {
    const std::size_t d = outer - 1;
    --outer;
    if (box.extent[d] != a[d] || box.extent[d] != b[d]) {
      break;
    }
  }
  return outer;
}

}  // namespace

bool box_fits(const Box& box, const Shape& shape) {
  if (box.start.size() != shape.size() || box.extent.size() != shape.size()) {
    return false;
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (box.start[d] < 0 || box.extent[d] < 0 || box.extent[d] > shape[d] - box.start[d]) {
      return false;
    }
  }
  return true;
}

CopyRecipe CopyRecipe::identity(std::string source_key, const Shape& shape) {
  const Box whole{std::vector<std::int64_t>(shape.size(), 0), shape};
  return CopyRecipe{{BoxCopy{std::move(source_key), whole, whole}}};
}

Status check_recipe(const CopyRecipe& recipe, const Shape& shape) {
  std::uint64_t covered = 0;
  for (std::size_t i = 0; i < recipe.copies.size(); ++i) {
    const auto& copy = recipe.copies[i];
    if (!box_fits(copy.destination, shape) || !box_is_well_formed(copy.source) ||
        copy.source.extent != copy.destination.extent) {
      return refuse(codes::kShapeMismatch, "copy leaves a tensor of shape " + shape_text(shape),
                    copy.source_key, "correct the recipe's boxes");
    }
    covered += box_elements(copy.destination);
    for (std::size_t j = 0; j < i; ++j) {
      if (boxes_overlap(copy.destination, recipe.copies[j].destination)) {
        return refuse(codes::kShapeMismatch, "two copies write the same elements", copy.source_key,
                      "correct the recipe's boxes");
      }
    }
  }
  const auto wanted = element_count(shape);
  if (!wanted || covered != *wanted) {
    return refuse(codes::kShapeMismatch, "copies leave elements of " + shape_text(shape) + " unset",
                  recipe.copies.empty() ? "empty recipe" : recipe.copies.front().source_key,
                  "correct the recipe's boxes");
  }
  return {};
}

std::vector<CopyRun> copy_runs(const BoxCopy& copy, const Shape& source_shape,
                               const Shape& destination_shape, std::uint64_t element_bytes) {
  const std::uint64_t total = box_elements(copy.source);
  if (total == 0) {
    return {};
  }
  const auto outer = outer_dimension_count(copy.source, source_shape, destination_shape);
  std::uint64_t rows = 1;
  for (std::size_t d = 0; d < outer; ++d) {
    rows *= static_cast<std::uint64_t>(copy.source.extent[d]);
  }
  std::vector<CopyRun> runs;
  runs.reserve(rows);
  for (std::uint64_t row = 0; row < rows; ++row) {
    runs.push_back({row_offset(copy.source, source_shape, outer, row) * element_bytes,
                    row_offset(copy.destination, destination_shape, outer, row) * element_bytes,
                    total / rows * element_bytes});
  }
  return runs;
}

Status execute_copy(const BoxCopy& copy, const TensorView& source, const Shape& destination_shape,
                    DType destination_dtype, ByteSpan destination) {
  if (source.dtype != destination_dtype || dtype_bits(source.dtype) % 8 != 0) {
    return refuse(codes::kDtypeMismatch,
                  std::string("dtype is ") + std::string(dtype_name(source.dtype)) + " where " +
                      std::string(dtype_name(destination_dtype)) + " is wanted",
                  copy.source_key, "use a checkpoint of the runtime dtype");
  }
  if (!box_fits(copy.source, source.shape) || !box_fits(copy.destination, destination_shape) ||
      copy.source.extent != copy.destination.extent) {
    return refuse(codes::kShapeMismatch,
                  "shape is " + shape_text(source.shape) + " where " +
                      shape_text(destination_shape) + " is wanted",
                  copy.source_key, "use a checkpoint of this model's configuration");
  }
  const std::uint64_t width = dtype_bits(source.dtype) / 8;
  for (const auto& run : copy_runs(copy, source.shape, destination_shape, width)) {
    require(run.source_bytes + run.length_bytes <= source.bytes.size() &&
                run.destination_bytes + run.length_bytes <= destination.size(),
            "execute_copy: a view is shorter than its shape");
    std::memcpy(destination.data() + run.destination_bytes, source.bytes.data() + run.source_bytes,
                run.length_bytes);
  }
  return {};
}

}  // namespace dlo::contracts
