// Owns: H3Transformer, the MiniMax-H3 transformer behind DitModel: its two rings (token refiner and
// block stack) with bindings, its input projections and output heads, the packed sequence between.
// Must not own: weights, schedules, requests, layouts (packed_layout.h), or the arithmetic of a
// block (h3_block.h).
// Threading: forward() on the launching thread; state_ and layouts_ are touched by compute-stream
// tasks alone, which run one after another, so forwards may be enqueued back to back.
// Source: diffusers MiniMaxH3Transformer3DModel under the original's names, models.md 4.3.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "model/block_sequence.h"
#include "model/bound_ring.h"
#include "model/minimax_h3/h3_block.h"
#include "model/minimax_h3/h3_config.h"
#include "model/minimax_h3/packed_layout.h"
#include "model/model_factory.h"

namespace dlo::model {

class H3Transformer final : public DitModel, private BlockCompute {
 public:
  H3Transformer(const H3Config& config, const ModelOptions& options);

  [[nodiscard]] const contracts::DitSpec& spec() const override { return ring_.spec(); }
  [[nodiscard]] const DitGeometry& geometry() const override { return geometry_; }
  void set_observer(contracts::BlockObserver* observer) override;
  [[nodiscard]] std::vector<const contracts::DitSpec*> child_rings() const override;
  void set_child_observer(std::size_t child, contracts::BlockObserver* observer) override;
  void forward(platform::Device& device, DitCall& call) override;

 private:
  // A layout on the device.
  struct DeviceLayout {
    at::Tensor timestep_indices;  // [rows]
    at::Tensor table_rows;        // [rows]
    at::Tensor video_rows;
    at::Tensor audio_rows;
    at::Tensor text_rows;
    at::Tensor positions;  // [rows, 3]
  };
  // Between the tasks of one forward.
  struct ForwardState {
    const DeviceLayout* layout = nullptr;
    at::Tensor text;    // [1, text rows, hidden], until the sequence is packed
    at::Tensor hidden;  // [1, rows, hidden]
    H3Conditioning conditioning;
  };
  // The blocks of the refiner, between the text projection and the packing.
  class Refiner final : public BlockCompute {
   public:
    explicit Refiner(H3Transformer& owner) : owner_(owner) {}
    void compute_block(std::uint32_t block, const BlockViews& views, DitCall& call) override;

   private:
    H3Transformer& owner_;
  };

  void compute_block(std::uint32_t block, const BlockViews& views, DitCall& call) override;
  void embed_text(const BlockViews& edges, const DitCall& call);
  void pack(const BlockViews& edges, const BlockViews& refiner_edges, const DitCall& call);
  void embed_time(const BlockViews& edges, const DitCall& call);
  void make_rope(const at::Tensor& inverse_frequencies, const TapView& tap);
  void write_output(const BlockViews& edges, const DitCall& call);
  [[nodiscard]] const DeviceLayout& on_device(const std::shared_ptr<const PackedLayout>& layout);
  void check_call(const DitCall& call) const;
  template <typename Work>
  void launch(platform::Device& device, Work work);

  H3Config config_;
  ComputeDevice device_;
  at::ScalarType compute_dtype_;
  AttentionOptions attention_;
  DitGeometry geometry_;
  BoundRing ring_;
  BoundRing refiner_ring_;
  BlockSequence sequence_;
  BlockSequence refiner_sequence_;
  Refiner refiner_;
  platform::OpLabel label_;
  std::map<std::shared_ptr<const PackedLayout>, DeviceLayout> layouts_;
  ForwardState state_;
};

}  // namespace dlo::model
