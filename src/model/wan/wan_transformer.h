// Owns: WanTransformer, the Wan 2.1 / 2.2 text-to-video transformer behind DitModel: its parameter
// table with bindings, its embeddings and output, its block sequence, its rotary tables.
// Must not own: weights, schedules, requests, or the arithmetic of a block (wan_block.h).
// Threading: forward() on the launching thread; state_ and rope_ are touched by compute-stream
// tasks alone, which run one after another, so forwards may be enqueued back to back.
// Source: diffusers WanTransformer3DModel, models.md 4.1.
#pragma once

#include <cstdint>

#include "model/block_sequence.h"
#include "model/bound_ring.h"
#include "model/model_factory.h"
#include "model/wan/wan_block.h"
#include "model/wan/wan_config.h"
#include "model/wan/wan_rope.h"

namespace dlo::model {

class WanTransformer final : public DitModel, private BlockCompute {
 public:
  WanTransformer(const WanConfig& config, const ModelOptions& options);

  [[nodiscard]] const contracts::DitSpec& spec() const override { return ring_.spec(); }
  [[nodiscard]] const DitGeometry& geometry() const override { return geometry_; }
  void set_observer(contracts::BlockObserver* observer) override;
  void forward(platform::Device& device, DitCall& call) override;

 private:
  // Between the tasks of one forward.
  struct ForwardState {
    PatchGrid grid = {};
    at::Tensor hidden;          // [batch, tokens, hidden]
    at::Tensor time_embedding;  // [batch, 1 or tokens, hidden]
    WanConditioning conditioning;
  };

  void compute_block(std::uint32_t block, const BlockViews& views, DitCall& call) override;
  void embed(const BlockViews& views, const DitCall& call);
  void embed_time(const BlockViews& views, const DitCall& call);
  void write_output(const BlockViews& views, const DitCall& call);

  WanConfig config_;
  ComputeDevice device_;
  at::ScalarType compute_dtype_;
  WanArithmetic arithmetic_;
  DitGeometry geometry_;
  BoundRing ring_;
  BlockSequence sequence_;
  platform::OpLabel label_;
  WanRopeCache rope_;
  ForwardState state_;
};

}  // namespace dlo::model
