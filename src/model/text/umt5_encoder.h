// Owns: Umt5Encoder, the UMT5 encoder behind TextEncoder: its table with one binding, its layers,
// its tables of relative positions.
// Must not own: weights, prompts. Threading: encode() on the launching thread; buckets_ is touched
// by compute-stream tasks alone, which run one after another.
// Source: transformers UMT5EncoderModel, models.md 4.1 "Text".
#pragma once

#include <cstdint>
#include <map>

#include "model/bound_ring.h"
#include "model/forward_support.h"
#include "model/text/text_encoder.h"
#include "model/text/umt5_config.h"

namespace dlo::model {

class Umt5Encoder final : public TextEncoder {
 public:
  Umt5Encoder(const Umt5Config& config, const ModelOptions& options);

  [[nodiscard]] const contracts::BlockSpec& spec() const override {
    return weights_.spec().non_block;
  }
  [[nodiscard]] const TextGeometry& geometry() const override { return geometry_; }
  void encode(platform::Device& device, TextCall& call) override;

 private:
  void compute(const BlockViews& views, const TextCall& call);
  [[nodiscard]] at::Tensor attend(WeightCursor& weights, const at::Tensor& hidden,
                                  const at::Tensor& closed, const TapView& tap);
  [[nodiscard]] at::Tensor feed_forward(WeightCursor& weights, const at::Tensor& hidden) const;
  // [tokens, tokens] on the device, made at the first use of a length.
  [[nodiscard]] const at::Tensor& buckets(std::int64_t tokens);

  Umt5Config config_;
  ComputeDevice device_;
  at::ScalarType compute_dtype_;
  TextGeometry geometry_;
  BoundRing weights_;
  std::map<std::int64_t, at::Tensor> buckets_;  // by number of tokens
};

}  // namespace dlo::model
