// Owns: what the forwards of all families share: the check of operands before anything is
// enqueued, showing intermediates to a tap, and walking a block's weights in table order.
// Must not own: a family's arithmetic. Threading: as each function says.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "model/dit_model.h"
#include "model/layers.h"
#include "model/torch_views.h"

namespace dlo::model {

// Launching thread. Throws RunError shape_mismatch unless `tensor` is F32 of shape `wanted`.
void check_operand(std::string_view name, const DeviceTensor& tensor, const Shape& wanted);

// Throws RunError shape_mismatch naming the operand unless it has `rank` dimensions, all >= 1.
void check_rank(std::string_view name, const DeviceTensor& tensor, std::size_t rank);

// Shows intermediates to a tap, if there is one, under a common prefix.
class TapView {
 public:
  explicit TapView(ForwardTap* tap, std::string prefix = {})
      : tap_(tap), prefix_(std::move(prefix)) {}

  [[nodiscard]] bool watched() const { return tap_ != nullptr; }
  void see(std::string_view suffix, const at::Tensor& tensor) const {
    if (tap_ != nullptr) {
      tap_->see(prefix_ + std::string(suffix), tensor);
    }
  }

 private:
  ForwardTap* tap_;
  std::string prefix_;
};

// Query, key and value of one input, each [..., features].
struct Qkv {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
};

// Hands out the tensors of a block in the order in which its table lists them.
class WeightCursor {
 public:
  explicit WeightCursor(const BlockViews& views) : next_(views.tensors.data()) {}

  [[nodiscard]] const at::Tensor& tensor() { return *next_++; }
  [[nodiscard]] LinearWeights linear() {
    const at::Tensor* first = next_;
    next_ += 2;
    return LinearWeights{first[0], first[1]};
  }

 private:
  const at::Tensor* next_;
};

// Weight and bias at `index` and behind it.
[[nodiscard]] LinearWeights pair_at(const BlockViews& views, std::size_t index);

// [..., heads * head_dim] as [..., heads, head_dim].
[[nodiscard]] at::Tensor split_heads(const at::Tensor& rows, std::int64_t heads);

// Two linear layers with a GELU between them.
[[nodiscard]] at::Tensor gelu_feed_forward(WeightCursor& weights, const at::Tensor& input);

// The projections of `input` through what SpecWriter::qkv wrote: three layers, or one whose rows
// are stacked.
[[nodiscard]] Qkv project_qkv(WeightCursor& weights, const at::Tensor& input, bool fused);

}  // namespace dlo::model
