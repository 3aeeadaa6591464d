#include "model/text/umt5_parameters.h"

#include <fmt/format.h>

#include <string_view>

#include "model/spec_writer.h"

namespace dlo::model {

namespace {

bool is_fp32_module(std::string_view name) {
  return name.ends_with(".wo.weight");
}

}  // namespace

contracts::DitSpec describe_umt5(const Umt5Config& config, const ModelOptions& options) {
  contracts::DitSpec spec;
  spec.name = options.component;
  spec.non_block.name = options.component;
  SpecWriter writer(options, is_fp32_module, "", spec, spec.non_block);
  writer.tensor("shared.weight", {config.vocab_size, config.d_model});
  for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
    const std::string attention = fmt::format("encoder.block.{}.layer.0.", layer);
    for (const char* projection : {"q", "k", "v"}) {
      writer.tensor(fmt::format("{}SelfAttention.{}.weight", attention, projection),
                    {config.inner(), config.d_model});
    }
    writer.tensor(attention + "SelfAttention.o.weight", {config.d_model, config.inner()});
    writer.tensor(attention + "SelfAttention.relative_attention_bias.weight",
                  {config.relative_attention_num_buckets, config.num_heads});
    writer.tensor(attention + "layer_norm.weight", {config.d_model});
    const std::string feed_forward = fmt::format("encoder.block.{}.layer.1.", layer);
    for (const char* gate : {"wi_0", "wi_1"}) {
      writer.tensor(fmt::format("{}DenseReluDense.{}.weight", feed_forward, gate),
                    {config.d_ff, config.d_model});
    }
    writer.tensor(feed_forward + "DenseReluDense.wo.weight", {config.d_model, config.d_ff});
    writer.tensor(feed_forward + "layer_norm.weight", {config.d_model});
  }
  writer.tensor("encoder.final_layer_norm.weight", {config.d_model});
  return spec;
}

}  // namespace dlo::model
