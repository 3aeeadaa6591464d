// Owns: SyntheticShape, what a synthetic model looks like: rings, blocks, tensors; and the drawing
// of shapes from a seed that are awkward on purpose: uneven blocks, tiny and odd tensors, empty
// ones, transposed strides, several dtypes.
// Must not own: bytes or bindings. Pure values: one seed, one shape.
#pragma once

#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "base/tensor_view.h"

namespace dlo::synthetic {

struct SyntheticTensor {
  DType dtype = DType::kU8;
  Shape shape;
  std::vector<std::int64_t> strides;  // in elements; empty: contiguous
};

struct SyntheticRing {
  std::vector<std::vector<SyntheticTensor>> blocks;
  std::vector<SyntheticTensor> non_block;
  bool child = false;  // of ring 0: a forward walks it before that one
};

struct SyntheticShape {
  std::uint64_t seed = 0;  // of the weights' bytes
  std::vector<SyntheticRing> rings;
};

// One ring of `blocks` blocks and two non-block tensors, drawn from `seed`.
[[nodiscard]] SyntheticRing draw_ring(std::uint64_t seed, std::uint32_t blocks);

// `ring_blocks.size()` rings, drawn one after the other.
[[nodiscard]] SyntheticShape draw_shape(std::uint64_t seed,
                                        const std::vector<std::uint32_t>& ring_blocks);

// Rings of two block lists one behind the other, a third of the blocks 2.4 times as large as the
// rest (FLUX.1), with the non-block tensors of draw_shape().
[[nodiscard]] SyntheticShape two_list_shape(std::uint64_t seed,
                                            const std::vector<std::uint32_t>& ring_blocks);

// `shape` with every ring but the first a child of the first, as a token refiner is.
[[nodiscard]] SyntheticShape with_children(SyntheticShape shape);

// One ring of equal blocks, each a single contiguous U8 tensor of `block_bytes`.
[[nodiscard]] SyntheticShape uniform_shape(std::uint64_t seed, std::uint32_t blocks,
                                           std::uint64_t block_bytes);

}  // namespace dlo::synthetic
