#include "host_weights/seeded_checkpoint/wan_tensors.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/codes.h"
#include "base/nearest_name.h"

namespace dlo::host_weights {

namespace {

constexpr float kBiasScale = 0.02F;
constexpr float kNormWeightScale = 0.05F;
// Outputs that are added to the residual stream are halved, so that their sum over 40 blocks
// stays within the range where bf16 has its digits.
constexpr float kResidualFactor = 0.5F;

float inverse_root(std::int64_t value) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(value)));
}

// Collects tensors in order; one function a kind of module.
class TensorList {
 public:
  struct Linear {
    std::string name;
    std::int64_t out = 0;
    std::int64_t in = 0;
    float factor = 1.0F;
    bool kept_in_fp32 = false;
  };

  void linear(const Linear& spec) {
    add({spec.name + ".weight",
         {spec.out, spec.in},
         0.0F,
         spec.factor * inverse_root(spec.in),
         spec.kept_in_fp32});
    bias(spec.name, spec.out, spec.kept_in_fp32);
  }
  void bias(const std::string& module, std::int64_t size, bool kept_in_fp32) {
    add({module + ".bias", {size}, 0.0F, kBiasScale, kept_in_fp32});
  }
  void norm_weight(const std::string& module, std::int64_t size, bool kept_in_fp32) {
    add({module + ".weight", {size}, 1.0F, kNormWeightScale, kept_in_fp32});
  }
  void modulation_table(const std::string& name, std::int64_t rows, std::int64_t hidden) {
    add({name, {1, rows, hidden}, 0.0F, inverse_root(hidden), true});
  }
  void add(WanTensor tensor) { tensors_.push_back(std::move(tensor)); }

  [[nodiscard]] std::vector<WanTensor> take() { return std::move(tensors_); }

 private:
  std::vector<WanTensor> tensors_;
};

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

struct StoredName {
  StoredDType stored;
  std::string_view name;
};

constexpr std::array kStoredNames = {
    StoredName{StoredDType::kF32, "F32"},
    StoredName{StoredDType::kBF16, "BF16"},
    StoredName{StoredDType::kMixed, "mixed"},
};

}  // namespace

std::vector<WanTensor> wan_tensors(const WanShape& shape) {
  TensorList list;
  list.modulation_table("scale_shift_table", 2, shape.hidden());
  add_embedders(list, shape);
  for (std::int64_t block = 0; block < shape.num_layers; ++block) {
    add_block(list, fmt::format("blocks.{}.", block), shape);
  }
  list.linear({"proj_out", shape.out_channels * shape.patch_elements(), shape.hidden()});
  return list.take();
}

Result<StoredDType> parse_stored_dtype(std::string_view text) {
  std::vector<std::string_view> known;
  for (const auto& row : kStoredNames) {
    if (row.name == text) {
      return row.stored;
    }
    known.push_back(row.name);
  }
  return refuse(codes::kInvalidValue, fmt::format("unknown dtype '{}'", text), "--dtype",
                suggest_name(text, known));
}

std::string_view stored_dtype_name(StoredDType stored) {
  for (const auto& row : kStoredNames) {
    if (row.stored == stored) {
      return row.name;
    }
  }
  throw LogicError("stored dtype without a row in the table");
}

DType stored_tensor_dtype(const WanTensor& tensor, StoredDType stored) {
  const bool wide =
      stored == StoredDType::kF32 || (stored == StoredDType::kMixed && tensor.kept_in_fp32);
  return wide ? DType::kF32 : DType::kBF16;
}

}  // namespace dlo::host_weights
