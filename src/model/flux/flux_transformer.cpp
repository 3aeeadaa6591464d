#include "model/flux/flux_transformer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <vector>

#include "base/codes.h"
#include "base/error.h"
#include "model/config_fields.h"
#include "model/flux/flux_parameters.h"
#include "model/rotary.h"
#include "model/torch_task.h"

namespace dlo::model {

namespace {

// The model multiplies its timestep and its guidance by this before their sinusoids.
constexpr double kTimeScale = 1000.0;
// A latent grid has 2 x 2 patches of this many channels each. The class knows no limit on
// positions; 2^16 patches a side are far above any image.
constexpr std::array<std::int64_t, 3> kPatch = {1, 2, 2};
constexpr std::int64_t kMostPositions = 1LL << 16U;

DitGeometry geometry_of(const FluxConfig& config) {
  DitGeometry geometry;
  geometry.in_channels = config.in_channels;
  geometry.out_channels = config.out_channels;
  geometry.text_dim = config.joint_attention_dim;
  geometry.patch_size = kPatch;
  geometry.max_positions = kMostPositions;
  geometry.pooled_dim = config.pooled_projection_dim;
  geometry.embeds_guidance = config.guidance_embeds;
  return geometry;
}

// The angles of every token: text at the origin, the image at (0, row, column).
at::Tensor make_angles(const FluxConfig& config, std::int64_t text_tokens, std::int64_t rows,
                       std::int64_t columns) {
  const at::Tensor row_angles = axis_angles(rows, config.axes_dims_rope[1]);
  const at::Tensor column_angles = axis_angles(columns, config.axes_dims_rope[2]);
  const auto spread = [&](const at::Tensor& angles, at::IntArrayRef shape) {
    return angles.view(shape).expand({rows, columns, angles.size(1)});
  };
  const at::Tensor image =
      at::cat({at::zeros({rows, columns, config.axes_dims_rope[0] / 2}, row_angles.options()),
               spread(row_angles, {rows, 1, -1}), spread(column_angles, {1, columns, -1})},
              -1)
          .reshape({rows * columns, -1});
  return at::cat({at::zeros({text_tokens, image.size(1)}, image.options()), image}).unsqueeze(1);
}

// linear, SiLU, linear.
at::Tensor embedder(WeightCursor& weights, const at::Tensor& input) {
  const at::Tensor inner = at::silu(linear(input, weights.linear()));
  return linear(inner, weights.linear());
}

}  // namespace

FluxTransformer::FluxTransformer(const FluxConfig& config, const ModelOptions& options)
    : config_(config),
      device_(options.device),
      compute_dtype_(scalar_type(options.compute_dtype)),
      arithmetic_{{options.attention, options.attention_query_chunk}, options.fused_projections},
      geometry_(geometry_of(config)),
      ring_(describe_flux(config, options), options.device),
      sequence_(options.ring, ring_.blocks()) {
  label_.site = platform::Site::kModel;
  label_.ring = options.ring;
}

void FluxTransformer::set_observer(contracts::BlockObserver* observer) {
  sequence_.set_observer(observer);
}

void FluxTransformer::check_call(const DitCall& call) const {
  check_rank("latents", call.latents, 3);
  check_rank("text_states", call.text_states, 3);
  const std::int64_t batch = call.latents.shape[0];
  const auto [frames, rows, columns] = call.token_grid;
  if (frames != 1 || rows < 1 || columns < 1 || rows > kMostPositions || columns > kMostPositions) {
    throw RunError(refuse(codes::kInvalidValue,
                          fmt::format("an image of {} x {} x {} tokens", frames, rows, columns),
                          "operands of a forward", "ask for one frame of at least one token"));
  }
  const std::int64_t tokens = rows * columns;
  check_operand("latents", call.latents, {batch, tokens, config_.in_channels});
  check_operand("output", call.output, {batch, tokens, config_.out_channels});
  check_operand("text_states", call.text_states,
                {batch, call.text_states.shape[1], config_.joint_attention_dim});
  check_operand("timestep", call.timestep, {batch});
  check_operand("pooled_text", call.pooled_text, {batch, config_.pooled_projection_dim});
  if (config_.guidance_embeds) {
    check_operand("guidance", call.guidance, {batch});
  }
}

void FluxTransformer::forward(platform::Device& device, DitCall& call) {
  require(compute_device(device) == device_,
          "a forward was asked of another device than the model's weights are on");
  check_call(call);
  const BlockViewsRef edges = ring_.edges();
  device.launch(
      platform::StreamKind::kCompute,
      [this, &call, edges] { run_torch_task(label_, [&] { embed(*edges, call); }); }, label_);
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

at::Tensor FluxTransformer::embed_conditions(WeightCursor& weights, const DitCall& call) const {
  const TapView tap(call.tap);
  const auto sinusoid_of = [&](const DeviceTensor& tensor) {
    // The scaled value is of the arithmetic's dtype, its sinusoid is not.
    const at::Tensor scaled = as_dtype(as_torch(tensor, device_), compute_dtype_) * kTimeScale;
    const at::Tensor sinusoid = timestep_sinusoid(widen(scaled), kFluxTimeChannels);
    tap.see("timestep_sinusoid", sinusoid);  // one module of the class, used twice
    return as_dtype(sinusoid, compute_dtype_);
  };
  at::Tensor embedding = embedder(weights, sinusoid_of(call.timestep));
  if (config_.guidance_embeds) {
    embedding = embedding + embedder(weights, sinusoid_of(call.guidance));
  }
  embedding =
      embedding + embedder(weights, as_dtype(as_torch(call.pooled_text, device_), compute_dtype_));
  tap.see("temb", embedding);
  return embedding;
}

void FluxTransformer::embed(const BlockViews& views, const DitCall& call) {
  const TapView tap(call.tap);
  WeightCursor weights(views);
  state_.conditioning.embedding = at::silu(embed_conditions(weights, call));
  state_.streams.text =
      linear(as_dtype(as_torch(call.text_states, device_), compute_dtype_), weights.linear());
  tap.see("context_embedder", state_.streams.text);
  state_.streams.image =
      linear(as_dtype(as_torch(call.latents, device_), compute_dtype_), weights.linear());
  tap.see("x_embedder", state_.streams.image);
  state_.conditioning.rope =
      rope({call.text_states.shape[1], call.token_grid[1], call.token_grid[2]});
  if (tap.watched()) {
    tap.see("rope.cos", doubled(state_.conditioning.rope.cos));
    tap.see("rope.sin", doubled(state_.conditioning.rope.sin));
  }
}

const RopeTables& FluxTransformer::rope(const RopeKey& key) {
  auto found = ropes_.find(key);
  if (found == ropes_.end()) {
    const RopeTables host = rope_of(make_angles(config_, key[0], key[1], key[2]));
    found = ropes_.emplace(key, move_rope(host, device_)).first;
  }
  return found->second;
}

void FluxTransformer::compute_block(std::uint32_t block, const BlockViews& views, DitCall& call) {
  if (block < config_.num_layers) {
    state_.streams =
        flux_dual_block(config_, arithmetic_, views, state_.conditioning, state_.streams,
                        TapView(call.tap, fmt::format("dual.{}", block)));
    return;
  }
  if (!state_.hidden.defined()) {
    state_.hidden = at::cat({state_.streams.text, state_.streams.image}, 1);
    state_.streams = {};
  }
  const TapView tap(call.tap, fmt::format("single.{}", block - config_.num_layers));
  state_.hidden =
      flux_single_block(config_, arithmetic_, views, state_.conditioning, state_.hidden, tap);
  if (tap.watched()) {
    const std::int64_t text_tokens = call.text_states.shape[1];
    tap.see(".text", state_.hidden.narrow(1, 0, text_tokens));
    tap.see(".image", state_.hidden.narrow(1, text_tokens, state_.hidden.size(1) - text_tokens));
  }
}

void FluxTransformer::write_output(const BlockViews& views, const DitCall& call) {
  const TapView tap(call.tap);
  const std::int64_t text_tokens = call.text_states.shape[1];
  const at::Tensor image =
      state_.hidden.narrow(1, text_tokens, state_.hidden.size(1) - text_tokens);
  tap.see("before_final_norm", image);
  // The last four tensors of the table: norm_out.linear and proj_out.
  const at::Tensor* last = views.tensors.data() + views.tensors.size() - 4;
  // Here the scale stands before the shift.
  const std::vector<at::Tensor> rows =
      widen(linear(state_.conditioning.embedding, {last[0], last[1]})).unsqueeze(1).chunk(2, -1);
  const at::Tensor normed = modulated_norm(image, {rows[1], rows[0]}, kFluxEps);
  tap.see("after_final_norm", normed);
  const at::Tensor sample = linear(normed, {last[2], last[3]});
  as_torch(call.output, device_).copy_(sample);
  tap.see("sample", sample);
}

Result<std::unique_ptr<DitModel>> make_flux(const nlohmann::json& config,
                                            const ModelOptions& options) {
  if (const auto status = check_model_options(options); !status) {
    return status.refusal();
  }
  const Result<FluxConfig> parsed = parse_flux_config(config);
  if (!parsed.ok()) {
    return parsed.refusal();
  }
  return std::unique_ptr<DitModel>(std::make_unique<FluxTransformer>(*parsed, options));
}

}  // namespace dlo::model
