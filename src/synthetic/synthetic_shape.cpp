#include "synthetic/synthetic_shape.h"

#include <array>

#include "base/value_generator.h"

namespace dlo::synthetic {

namespace {

// Draws in sequence from one counter-based stream.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : generator_("synthetic shape", seed) {}
  // Uniform in [0, bound).
  std::uint64_t below(std::uint64_t bound) { return generator_.bits(next_++) % bound; }

 private:
  ValueGenerator generator_;
  std::uint64_t next_ = 0;
};

SyntheticTensor draw_tensor(Draw& draw) {
  constexpr std::array kDtypes = {DType::kU8, DType::kBF16, DType::kF32};
  SyntheticTensor tensor;
  tensor.dtype = kDtypes[draw.below(kDtypes.size())];
  const auto a = static_cast<std::int64_t>(draw.below(9)) + 1;
  const auto b = static_cast<std::int64_t>(draw.below(40)) + 1;
  switch (draw.below(6)) {
    case 0:
      tensor.shape = {};  // a scalar
      break;
    case 1:
      tensor.shape = {0, b};
      break;
    case 2:  // transposed, as the weights of an FP8 layer
      tensor.shape = {b, a};
      tensor.strides = {1, b};
      break;
    case 3:  // rows with gaps
      tensor.shape = {a, b};
      tensor.strides = {b + 3, 1};
      break;
    case 4:
      tensor.shape = {a * b};
      break;
    default:
      tensor.shape = {a, 3, b};
      break;
  }
  return tensor;
}

}  // namespace

SyntheticRing draw_ring(std::uint64_t seed, std::uint32_t blocks) {
  Draw draw(seed);
  SyntheticRing ring;
  for (std::uint32_t b = 0; b < blocks; ++b) {
    // One block in four is several times as large as the others (token refiners are).
    const auto tensors = 1 + draw.below(3) + (draw.below(4) == 0 ? 8 : 0);
    auto& block = ring.blocks.emplace_back();
    for (std::uint64_t t = 0; t < tensors; ++t) {
      block.push_back(draw_tensor(draw));
    }
  }
  ring.non_block = {draw_tensor(draw), draw_tensor(draw)};
  return ring;
}

SyntheticShape draw_shape(std::uint64_t seed, const std::vector<std::uint32_t>& ring_blocks) {
  SyntheticShape shape;
  shape.seed = seed;
  for (std::size_t r = 0; r < ring_blocks.size(); ++r) {
    shape.rings.push_back(draw_ring(seed * ring_blocks.size() + r, ring_blocks[r]));
  }
  return shape;
}

SyntheticShape two_list_shape(std::uint64_t seed, const std::vector<std::uint32_t>& ring_blocks) {
  auto shape = draw_shape(seed, ring_blocks);
  const SyntheticTensor large{DType::kBF16, {24, 50}, {}};
  const SyntheticTensor small{DType::kBF16, {10, 50}, {}};
  for (auto& ring : shape.rings) {
    for (std::size_t b = 0; b < ring.blocks.size(); ++b) {
      ring.blocks[b] = {3 * b < ring.blocks.size() ? large : small};
    }
  }
  return shape;
}

SyntheticShape with_children(SyntheticShape shape) {
  for (std::size_t r = 1; r < shape.rings.size(); ++r) {
    shape.rings[r].child = true;
  }
  return shape;
}

SyntheticShape uniform_shape(std::uint64_t seed, std::uint32_t blocks, std::uint64_t block_bytes) {
  const SyntheticTensor tensor{DType::kU8, {static_cast<std::int64_t>(block_bytes)}, {}};
  SyntheticShape shape;
  shape.seed = seed;
  shape.rings.emplace_back().blocks.assign(blocks, {tensor});
  return shape;
}

}  // namespace dlo::synthetic
