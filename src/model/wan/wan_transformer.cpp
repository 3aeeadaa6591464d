#include "model/wan/wan_transformer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/silu.h>
#include <fmt/format.h>

#include "base/error.h"
#include "model/config_fields.h"
#include "model/forward_support.h"
#include "model/rotary.h"
#include "model/torch_task.h"
#include "model/wan/wan_parameters.h"

namespace dlo::model {

namespace {

namespace at_index = wan_edge_index;

// [batch, channels, F, H, W] to [batch, tokens, channels * patch volume]: a convolution whose
// stride is its kernel is a linear layer over patches.
at::Tensor to_patches(const at::Tensor& latents, const WanConfig& config, const PatchGrid& grid) {
  const auto& patch = config.patch_size;
  return latents
      .view({latents.size(0), latents.size(1), grid[0], patch[0], grid[1], patch[1], grid[2],
             patch[2]})
      .permute({0, 2, 4, 6, 1, 3, 5, 7})
      .reshape({latents.size(0), grid[0] * grid[1] * grid[2], -1});
}

// [batch, tokens, patch volume * channels] to [batch, channels, F, H, W].
at::Tensor from_patches(const at::Tensor& rows, const WanConfig& config, const PatchGrid& grid) {
  const auto& patch = config.patch_size;
  return rows
      .view({rows.size(0), grid[0], grid[1], grid[2], patch[0], patch[1], patch[2],
             config.out_channels})
      .permute({0, 7, 1, 4, 2, 5, 3, 6})
      .reshape({rows.size(0), config.out_channels, grid[0] * patch[0], grid[1] * patch[1],
                grid[2] * patch[2]});
}

// Checks the operands and returns the patch grid.
PatchGrid check_call(const DitGeometry& geometry, const DitCall& call) {
  const Shape& latents = call.latents.shape;
  if (latents.size() != 5 || latents[0] < 1) {
    check_operand("latents", call.latents, {1, geometry.in_channels, 1, 1, 1});
  }
  const std::array<std::int64_t, 3> grid = {latents[2], latents[3], latents[4]};
  if (const Status status = geometry.check_grid(grid); !status.ok()) {
    throw RunError(status.refusal());
  }
  const std::int64_t batch = latents[0];
  const Shape& text = call.text_states.shape;
  const std::int64_t text_tokens = text.size() == 3 && text[1] > 0 ? text[1] : 1;
  check_operand("latents", call.latents, {batch, geometry.in_channels, grid[0], grid[1], grid[2]});
  check_operand("output", call.output, {batch, geometry.out_channels, grid[0], grid[1], grid[2]});
  check_operand("text_states", call.text_states, {batch, text_tokens, geometry.text_dim});
  const bool per_token = call.timestep.shape.size() == 2;
  check_operand("timestep", call.timestep,
                per_token ? Shape{batch, geometry.token_count(grid)} : Shape{batch});
  const auto& patch = geometry.patch_size;
  return {grid[0] / patch[0], grid[1] / patch[1], grid[2] / patch[2]};
}

DitGeometry geometry_of(const WanConfig& config) {
  return DitGeometry{config.in_channels, config.out_channels, config.text_dim, config.patch_size,
                     config.rope_max_seq_len};
}

}  // namespace

WanTransformer::WanTransformer(const WanConfig& config, const ModelOptions& options)
    : config_(config),
      device_(options.device),
      compute_dtype_(scalar_type(options.compute_dtype)),
      arithmetic_{{options.attention, options.attention_query_chunk}, options.fused_projections},
      geometry_(geometry_of(config)),
      ring_(describe_wan(config, options), options.device),
      sequence_(options.ring, ring_.blocks()),
      rope_(options.device) {
  label_.site = platform::Site::kModel;
  label_.ring = options.ring;
}

void WanTransformer::set_observer(contracts::BlockObserver* observer) {
  sequence_.set_observer(observer);
}

void WanTransformer::forward(platform::Device& device, DitCall& call) {
  require(compute_device(device) == device_,
          "a forward was asked of another device than the model's weights are on");
  const PatchGrid grid = check_call(geometry_, call);
  const BlockViewsRef edges = ring_.edges();
  device.launch(
      platform::StreamKind::kCompute,
      [this, &call, grid, edges] {
        run_torch_task(label_, [&] {
          state_.grid = grid;
          embed(*edges, call);
        });
      },
      label_);
  sequence_.run(device, *this, call);
  device.launch(
      platform::StreamKind::kCompute,
      [this, &call, edges] {
        run_torch_task(label_, [&] {
          write_output(*edges, call);
          state_ = ForwardState{};
        });
      },
      label_);
}

void WanTransformer::embed(const BlockViews& views, const DitCall& call) {
  const TapView tap(call.tap);
  const LinearWeights patch = pair_at(views, at_index::kPatchEmbedding);
  const at::Tensor latents = as_dtype(as_torch(call.latents, device_), compute_dtype_);
  state_.hidden =
      linear(to_patches(latents, config_, state_.grid), {patch.weight.flatten(1), patch.bias});
  tap.see("patch_embedding", state_.hidden);

  state_.conditioning.rope = rope_.tables(config_, state_.grid);
  if (tap.watched()) {
    tap.see("rope.cos", doubled(state_.conditioning.rope.cos));
    tap.see("rope.sin", doubled(state_.conditioning.rope.sin));
  }
  embed_time(views, call);
  const at::Tensor text = linear(as_dtype(as_torch(call.text_states, device_), compute_dtype_),
                                 pair_at(views, at_index::kTextEmbedder1));
  state_.conditioning.text = linear(gelu_tanh(text), pair_at(views, at_index::kTextEmbedder2));
  tap.see("text_embeds", state_.conditioning.text);
}

void WanTransformer::embed_time(const BlockViews& views, const DitCall& call) {
  const TapView tap(call.tap);
  const at::Tensor sinusoid = timestep_sinusoid(as_torch(call.timestep, device_), config_.freq_dim);
  tap.see("timestep_sinusoid", sinusoid);
  // With BF16 arithmetic the embedder computes in its weights' dtype, as in diffusers, which keeps
  // them in fp32.
  const LinearWeights first = pair_at(views, at_index::kTimeEmbedder1);
  const at::ScalarType dtype =
      compute_dtype_ == at::kFloat ? at::kFloat : first.weight.scalar_type();
  const at::Tensor inner = at::silu(linear(as_dtype(sinusoid, dtype), first));
  const at::Tensor embedding =
      as_dtype(linear(inner, pair_at(views, at_index::kTimeEmbedder2)), compute_dtype_);
  tap.see("temb", embedding);
  const at::Tensor projected = linear(at::silu(embedding), pair_at(views, at_index::kTimeProj));
  tap.see("timestep_proj", projected);
  // A timestep for the whole latent is one row that all tokens share.
  const std::int64_t batch = call.timestep.shape[0];
  state_.time_embedding = embedding.view({batch, -1, config_.hidden()});
  state_.conditioning.modulation = projected.view({batch, -1, 6, config_.hidden()});
}

void WanTransformer::compute_block(std::uint32_t block, const BlockViews& views, DitCall& call) {
  state_.hidden = wan_block(config_, arithmetic_, views, state_.conditioning, state_.hidden,
                            TapView(call.tap, fmt::format("block.{}", block)));
}

void WanTransformer::write_output(const BlockViews& views, const DitCall& call) {
  const TapView tap(call.tap);
  tap.see("before_final_norm", state_.hidden);
  const at::Tensor table = widen(views.tensors[at_index::kScaleShiftTable]).unsqueeze(0) +
                           state_.time_embedding.unsqueeze(2);
  const at::Tensor normed =
      modulated_norm(state_.hidden, {table.select(2, 0), table.select(2, 1)}, config_.eps);
  tap.see("after_final_norm", normed);
  const at::Tensor rows = linear(normed, pair_at(views, at_index::kProjOut));
  const at::Tensor sample = from_patches(rows, config_, state_.grid);
  as_torch(call.output, device_).copy_(sample);
  tap.see("sample", sample);
}

Result<std::unique_ptr<DitModel>> make_wan(const nlohmann::json& config,
                                           const ModelOptions& options) {
  if (const auto status = check_model_options(options); !status) {
    return status.refusal();
  }
  const Result<WanConfig> parsed = parse_wan_config(config);
  if (!parsed.ok()) {
    return parsed.refusal();
  }
  return std::unique_ptr<DitModel>(std::make_unique<WanTransformer>(*parsed, options));
}

}  // namespace dlo::model
