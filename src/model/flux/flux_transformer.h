// Owns: FluxTransformer, the FLUX.1 transformer behind DitModel: its parameter table with bindings,
// its embeddings and output, its block sequence over both block lists, its rotary tables.
// Must not own: weights, schedules, requests, or the arithmetic of a block (flux_block.h).
// Threading: forward() on the launching thread; state_ and ropes_ are touched by compute-stream
// tasks alone, which run one after another, so forwards may be enqueued back to back.
// Source: diffusers FluxTransformer2DModel, models.md 4.2.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "model/block_sequence.h"
#include "model/bound_ring.h"
#include "model/flux/flux_block.h"
#include "model/flux/flux_config.h"
#include "model/model_factory.h"

namespace dlo::model {

class FluxTransformer final : public DitModel, private BlockCompute {
 public:
  FluxTransformer(const FluxConfig& config, const ModelOptions& options);

  [[nodiscard]] const contracts::DitSpec& spec() const override { return ring_.spec(); }
  [[nodiscard]] const DitGeometry& geometry() const override { return geometry_; }
  void set_observer(contracts::BlockObserver* observer) override;
  void forward(platform::Device& device, DitCall& call) override;

 private:
  // Between the tasks of one forward.
  struct ForwardState {
    FluxStreams streams;  // until the last dual-stream block
    at::Tensor hidden;    // text and image, from the first single-stream block on
    FluxConditioning conditioning;
  };
  // Text tokens, rows and columns.
  using RopeKey = std::array<std::int64_t, 3>;

  void compute_block(std::uint32_t block, const BlockViews& views, DitCall& call) override;
  void embed(const BlockViews& views, const DitCall& call);
  // The embedding of time, guidance and pooled text; the reads of the table go on behind it.
  [[nodiscard]] at::Tensor embed_conditions(WeightCursor& weights, const DitCall& call) const;
  void write_output(const BlockViews& views, const DitCall& call);
  [[nodiscard]] const RopeTables& rope(const RopeKey& key);
  void check_call(const DitCall& call) const;

  FluxConfig config_;
  ComputeDevice device_;
  at::ScalarType compute_dtype_;
  FluxArithmetic arithmetic_;
  DitGeometry geometry_;
  BoundRing ring_;
  BlockSequence sequence_;
  platform::OpLabel label_;
  std::map<RopeKey, RopeTables> ropes_;
  ForwardState state_;
};

}  // namespace dlo::model
