#include "host_weights/seeded_checkpoint/wan_tensors.h"

#include <fmt/format.h>

namespace dlo::host_weights {

namespace {

void add_embedders(TensorList& list, const WanShape& shape) {
  const std::int64_t hidden = shape.hidden();
  const std::int64_t patch_inputs = shape.in_channels * shape.patch_elements();
  const auto& patch = shape.patch_size;
  list.add({"patch_embedding.weight",
            {hidden, shape.in_channels, patch[0], patch[1], patch[2]},
            0.0F,
            inverse_root(patch_inputs),
            false});
  list.bias("patch_embedding", hidden, false);
  const std::string prefix = "condition_embedder.";
  list.linear({prefix + "time_embedder.linear_1", hidden, shape.freq_dim, 1.0F, true});
  list.linear({prefix + "time_embedder.linear_2", hidden, hidden, 1.0F, true});
  list.linear({prefix + "time_proj", 6 * hidden, hidden});
  list.linear({prefix + "text_embedder.linear_1", hidden, shape.text_dim});
  list.linear({prefix + "text_embedder.linear_2", hidden, hidden});
}

void add_attention(TensorList& list, const std::string& prefix, std::int64_t hidden) {
  for (const char* projection : {"to_q", "to_k", "to_v"}) {
    list.linear({prefix + projection, hidden, hidden});
  }
  list.linear({prefix + "to_out.0", hidden, hidden, kResidualFactor});
  list.norm_weight(prefix + "norm_q", hidden, false);
  list.norm_weight(prefix + "norm_k", hidden, false);
}

void add_block(TensorList& list, const std::string& prefix, const WanShape& shape) {
  const std::int64_t hidden = shape.hidden();
  list.modulation_table(prefix + "scale_shift_table", 6, hidden);
  add_attention(list, prefix + "attn1.", hidden);
  add_attention(list, prefix + "attn2.", hidden);
  list.norm_weight(prefix + "norm2", hidden, true);
  list.bias(prefix + "norm2", hidden, true);
  list.linear({prefix + "ffn.net.0.proj", shape.ffn_dim, hidden});
  list.linear({prefix + "ffn.net.2", hidden, shape.ffn_dim, kResidualFactor});
}

}  // namespace

std::vector<SeededTensor> wan_tensors(const WanShape& shape) {
  TensorList list;
  list.modulation_table("scale_shift_table", 2, shape.hidden());
  add_embedders(list, shape);
  for (std::int64_t block = 0; block < shape.num_layers; ++block) {
    add_block(list, fmt::format("blocks.{}.", block), shape);
  }
  list.linear({"proj_out", shape.out_channels * shape.patch_elements(), shape.hidden()});
  return list.take();
}

}  // namespace dlo::host_weights
