#include "model/text/umt5_encoder.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <limits>

#include "base/error.h"
#include "model/config_fields.h"
#include "model/text/relative_position.h"
#include "model/text/umt5_parameters.h"
#include "model/torch_task.h"

namespace dlo::model {

namespace {

constexpr platform::OpLabel kLabel{.site = platform::Site::kModel};

void check_call(const TextGeometry& geometry, const TextCall& call) {
  check_rank("tokens", call.tokens, 2);
  const Shape& rows = call.tokens.shape;
  check_operand("tokens", call.tokens, rows);
  check_operand("mask", call.mask, rows);
  check_operand("states", call.states, {rows[0], rows[1], geometry.width});
}

}  // namespace

Umt5Encoder::Umt5Encoder(const Umt5Config& config, const ModelOptions& options)
    : config_(config),
      device_(options.device),
      compute_dtype_(scalar_type(options.compute_dtype)),
      geometry_{config.vocab_size, config.d_model, config.pad_token_id, config.eos_token_id},
      weights_(describe_umt5(config, options), options.device) {}

void Umt5Encoder::encode(platform::Device& device, TextCall& call) {
  require(compute_device(device) == device_,
          "an encoding was asked of another device than the encoder's weights are on");
  check_call(geometry_, call);
  device.launch(
      platform::StreamKind::kCompute,
      [this, &call, views = weights_.edges()] {
        run_torch_task(kLabel, [&] { compute(*views, call); });
      },
      kLabel);
}

void Umt5Encoder::compute(const BlockViews& views, const TextCall& call) {
  const TapView tap(call.tap);
  WeightCursor weights(views);
  const at::Tensor mask = as_torch(call.mask, device_);
  // What a closed key is given in place of a score: softmax leaves nothing of it.
  const at::Tensor closed =
      ((1.0 - mask) * std::numeric_limits<float>::lowest()).unsqueeze(1).unsqueeze(1);
  const at::Tensor ids = as_torch(call.tokens, device_).to(at::kLong);
  // The sum of what all layers add stays fp32, whatever they compute in.
  at::Tensor hidden = widen(at::embedding(weights.tensor(), ids));
  for (std::int64_t layer = 0; layer < config_.num_layers; ++layer) {
    tap.see(fmt::format("hidden.{}", layer), hidden);
    hidden = hidden + attend(weights, hidden, closed, TapView(layer == 0 ? call.tap : nullptr));
    hidden = hidden + feed_forward(weights, hidden);
  }
  hidden = rms_norm(hidden, weights.tensor(), config_.layer_norm_epsilon);
  tap.see(fmt::format("hidden.{}", config_.num_layers), hidden);
  tap.see("last_hidden_state", hidden);
  as_torch(call.states, device_).copy_(hidden.masked_fill((mask == 0.0).unsqueeze(-1), 0.0));
}

at::Tensor Umt5Encoder::attend(WeightCursor& weights, const at::Tensor& hidden,
                               const at::Tensor& closed, const TapView& tap) {
  const at::Tensor& query_weight = weights.tensor();
  const at::Tensor& key_weight = weights.tensor();
  const at::Tensor& value_weight = weights.tensor();
  const at::Tensor& out_weight = weights.tensor();
  const at::Tensor& bias_table = weights.tensor();
  const at::Tensor input =
      as_dtype(rms_norm(hidden, weights.tensor(), config_.layer_norm_epsilon), compute_dtype_);
  const auto heads_of = [&](const at::Tensor& weight) {
    return widen(split_heads(project(input, weight), config_.num_heads)).transpose(1, 2);
  };
  const std::int64_t tokens = hidden.size(1);
  const at::Tensor bias =
      at::embedding(widen(bias_table), buckets(tokens)).permute({2, 0, 1}).unsqueeze(0);
  tap.see(fmt::format("position_bias.{}", tokens), bias);
  // T5 does not scale its scores.
  const at::Tensor scores =
      at::matmul(heads_of(query_weight), heads_of(key_weight).transpose(2, 3)) + (bias + closed);
  const at::Tensor attended =
      at::matmul(at::softmax(scores, -1), heads_of(value_weight)).transpose(1, 2).flatten(2);
  return widen(project(as_dtype(attended, compute_dtype_), out_weight));
}

at::Tensor Umt5Encoder::feed_forward(WeightCursor& weights, const at::Tensor& hidden) const {
  const at::Tensor& gate_weight = weights.tensor();
  const at::Tensor& linear_weight = weights.tensor();
  const at::Tensor& out_weight = weights.tensor();
  const at::Tensor input =
      as_dtype(rms_norm(hidden, weights.tensor(), config_.layer_norm_epsilon), compute_dtype_);
  const at::Tensor gated = gelu_tanh(project(input, gate_weight)) * project(input, linear_weight);
  // As in transformers, a second matrix that is kept in fp32 is multiplied in fp32.
  const bool wide = out_weight.scalar_type() == at::kFloat;
  return widen(project(wide ? widen(gated) : gated, out_weight));
}

const at::Tensor& Umt5Encoder::buckets(std::int64_t tokens) {
  auto found = buckets_.find(tokens);
  if (found == buckets_.end()) {
    const auto table = position_buckets(
        tokens, {config_.relative_attention_num_buckets, config_.relative_attention_max_distance});
    // Not blocking: a wait of torch's own knows no deadline. The driver has read pageable memory
    // when the copy returns.
    found = buckets_
                .emplace(tokens, at::tensor(table, at::kLong)
                                     .view({tokens, tokens})
                                     .to(torch_device(device_), at::kLong, /*non_blocking=*/true))
                .first;
  }
  return found->second;
}

Result<std::unique_ptr<TextEncoder>> make_umt5(const nlohmann::json& config,
                                               const ModelOptions& options) {
  if (const auto status = check_model_options(options); !status) {
    return status.refusal();
  }
  const Result<Umt5Config> parsed = parse_umt5_config(config);
  if (!parsed.ok()) {
    return parsed.refusal();
  }
  return std::unique_ptr<TextEncoder>(std::make_unique<Umt5Encoder>(*parsed, options));
}

}  // namespace dlo::model
