#include "model/minimax_h3/h3_block.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/silu.h>

#include <array>
#include <vector>

namespace dlo::model {

namespace {

at::Tensor rotate(const at::Tensor& heads, const H3Rope& rope) {
  const std::int64_t half = rope.cos.size(-1);
  const at::Tensor first = widen(heads.narrow(-1, 0, half));
  const at::Tensor second = widen(heads.narrow(-1, half, half));
  const at::Tensor rest = heads.narrow(-1, 2 * half, heads.size(-1) - 2 * half);
  const auto narrowed = [&heads](const at::Tensor& tensor) {
    return as_dtype(tensor, heads.scalar_type());
  };
  return at::cat({narrowed(first * rope.cos - second * rope.sin),
                  narrowed(second * rope.cos + first * rope.sin), rest},
                 -1);
}

// Attention of `input` to itself; `rope` is null in the refiner.
at::Tensor attend(const H3Config& config, const AttentionOptions& options, WeightCursor& weights,
                  const at::Tensor& input, const H3Rope* rope) {
  const std::int64_t heads = config.num_attention_heads;
  // All q, all k, all v.
  const std::vector<at::Tensor> parts = project(input, weights.tensor()).chunk(3, -1);
  at::Tensor query = rms_norm(split_heads(parts[0], heads), weights.tensor(), config.qk_norm_eps);
  at::Tensor key = rms_norm(split_heads(parts[1], heads), weights.tensor(), config.qk_norm_eps);
  if (rope != nullptr) {
    query = rotate(query, *rope);
    key = rotate(key, *rope);
  }
  return project(attention(query, key, split_heads(parts[2], heads), options), weights.tensor());
}

at::Tensor feed_forward(WeightCursor& weights, const at::Tensor& input) {
  // Gate first, then what it gates.
  const std::vector<at::Tensor> halves = project(input, weights.tensor()).chunk(2, -1);
  return project(at::silu(halves[0]) * halves[1], weights.tensor());
}

// Shift, scale and gate of the attention, then of the feed-forward, one row for each row of the
// sequence.
class ModulationTable {
 public:
  ModulationTable(const H3Config& config, const H3Conditioning& conditioning,
                  const LinearWeights& weights, const TapView& tap)
      : rows_(conditioning.table_rows) {
    const at::Tensor table =
        linear(conditioning.embedding, weights).view({-1, 6 * config.hidden_size});
    parts_ = table.chunk(6, -1);
    constexpr std::array<const char*, 6> kNames = {".adaln.shift_msa", ".adaln.scale_msa",
                                                   ".adaln.gate_msa",  ".adaln.shift_mlp",
                                                   ".adaln.scale_mlp", ".adaln.gate_mlp"};
    for (std::size_t part = 0; part < kNames.size(); ++part) {
      tap.see(kNames[part], parts_[part]);
    }
  }

  // normed * (1 + scale) + shift.
  [[nodiscard]] at::Tensor modulate(const at::Tensor& normed, std::size_t first) const {
    return normed * (of_rows(first + 1) + 1.0) + of_rows(first);
  }
  [[nodiscard]] at::Tensor gated(const at::Tensor& update, std::size_t part) const {
    return of_rows(part) * update;
  }

 private:
  [[nodiscard]] at::Tensor of_rows(std::size_t part) const {
    return at::index_select(parts_[part], 0, rows_);
  }

  const at::Tensor& rows_;
  std::vector<at::Tensor> parts_;
};

}  // namespace

at::Tensor h3_block(const H3Config& config, const AttentionOptions& attention,
                    const BlockViews& views, const H3Conditioning& conditioning,
                    const at::Tensor& hidden, const TapView& tap) {
  WeightCursor weights(views);
  // The modulation stands last in the table.
  const at::Tensor* last = views.tensors.data() + views.tensors.size() - 2;
  const ModulationTable table(config, conditioning, {last[0], last[1]}, tap);

  const at::Tensor attn_input =
      table.modulate(rms_norm(hidden, weights.tensor(), config.norm_eps), 0);
  const at::Tensor attn = attend(config, attention, weights, attn_input, &conditioning.rope);
  tap.see(".attn", attn);
  const at::Tensor after_attn = hidden + table.gated(attn, 2);

  const at::Tensor mlp_input =
      table.modulate(rms_norm(after_attn, weights.tensor(), config.norm_eps), 3);
  const at::Tensor mlp = feed_forward(weights, mlp_input);
  tap.see(".mlp", mlp);
  at::Tensor out = after_attn + table.gated(mlp, 5);
  tap.see("", out);
  return out;
}

at::Tensor h3_refiner_block(const H3Config& config, const AttentionOptions& attention,
                            const BlockViews& views, const at::Tensor& hidden) {
  WeightCursor weights(views);
  const at::Tensor attn_input = rms_norm(hidden, weights.tensor(), config.norm_eps);
  const at::Tensor after_attn = hidden + attend(config, attention, weights, attn_input, nullptr);
  const at::Tensor mlp_input = rms_norm(after_attn, weights.tensor(), config.norm_eps);
  return after_attn + feed_forward(weights, mlp_input);
}

}  // namespace dlo::model
