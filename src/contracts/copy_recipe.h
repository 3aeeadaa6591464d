// Owns: CopyRecipe: source boxes to destination boxes of one parameter. The only place where TP
// slices, fused or packed rows and reorders are stated; the loader, deferred transforms and cache
// publication all execute it.
// Must not own: files or devices. Pure values; execute() copies bytes between given views.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor_view.h"

namespace dlo::contracts {

// A box of a tensor: start and extent per dimension, in elements.
struct Box {
  std::vector<std::int64_t> start;
  std::vector<std::int64_t> extent;

  friend bool operator==(const Box&, const Box&) = default;
};

// True when the box has the rank of `shape` and lies inside it.
[[nodiscard]] bool box_fits(const Box& box, const Shape& shape);

struct BoxCopy {
  std::string source_key;  // checkpoint key
  Box source;
  Box destination;  // same extents as source

  friend bool operator==(const BoxCopy&, const BoxCopy&) = default;
};

struct CopyRecipe {
  std::vector<BoxCopy> copies;

  // The whole tensor `source_key` of `shape` onto itself.
  [[nodiscard]] static CopyRecipe identity(std::string source_key, const Shape& shape);

  friend bool operator==(const CopyRecipe&, const CopyRecipe&) = default;
};

// Bytes that lie back to back on both sides of a copy; offsets from the start of each tensor.
struct CopyRun {
  std::uint64_t source_bytes = 0;
  std::uint64_t destination_bytes = 0;
  std::uint64_t length_bytes = 0;
};

// Ok when the destination boxes lie in `shape` and cover every element of it exactly once, and the
// source boxes have the same extents; otherwise shape_mismatch that names the gap or overlap.
// Checked by counting elements and testing boxes pairwise. Whether a source box leaves its tensor
// shows when execute_copy() is given that tensor.
[[nodiscard]] Status check_recipe(const CopyRecipe& recipe, const Shape& shape);

// The runs of `copy` between contiguous tensors of these shapes with elements of `element_bytes`,
// row by row. Precondition: both boxes fit their shapes and have equal extents.
[[nodiscard]] std::vector<CopyRun> copy_runs(const BoxCopy& copy, const Shape& source_shape,
                                             const Shape& destination_shape,
                                             std::uint64_t element_bytes);

// Copies `copy.source` of `source` into `copy.destination` of a contiguous tensor of
// `destination_shape` at `destination`. Shapes, boxes and dtypes must agree: shape_mismatch and
// dtype_mismatch otherwise. Contiguous runs are copied with one memcpy each.
[[nodiscard]] Status execute_copy(const BoxCopy& copy, const TensorView& source,
                                  const Shape& destination_shape, DType destination_dtype,
                                  ByteSpan destination);

}  // namespace dlo::contracts
