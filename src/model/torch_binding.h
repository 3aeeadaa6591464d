// Owns: TorchBlockBinding: the views of one block's tensors at each place it may be read from, and
// which of them the next launched compute reads. This header is free of torch.
// Must not own: bytes. Views alias the announced spans and never copy.
// Threading: launching thread only. A launched task holds its BlockViews by shared pointer, so
// bind(), bind_placeholder() and forget_places() never disturb compute that is already enqueued.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "contracts/block_binding.h"
#include "contracts/parameter_table.h"
#include "model/compute_device.h"

namespace dlo::model {

struct BlockViews;  // model/torch_views.h
using BlockViewsRef = std::shared_ptr<const BlockViews>;

class TorchBlockBinding final : public contracts::BlockBinding {
 public:
  // `block` outlives the binding; its tensors give dtype, shape and stride of the views. Places are
  // memory of `device`. The new binding is at its placeholder.
  explicit TorchBlockBinding(const contracts::BlockSpec& block, ComputeDevice device = {});
  ~TorchBlockBinding() override;
  TorchBlockBinding(const TorchBlockBinding&) = delete;
  TorchBlockBinding& operator=(const TorchBlockBinding&) = delete;

  // Throws LogicError when `place` is not the next index, or `span` is shorter than `layout`.
  void add_place(contracts::PlaceIndex place, DeviceSpan span,
                 const contracts::BlockLayout& layout) override;
  // Precondition: `place` was announced.
  void bind(contracts::PlaceIndex place) noexcept override;
  void bind_placeholder() noexcept override;
  void forget_places() noexcept override;

  // What the next launched compute captures. Throws RunError placeholder_read naming the block.
  [[nodiscard]] BlockViewsRef current() const;

 private:
  const contracts::BlockSpec& block_;
  ComputeDevice device_;
  std::vector<BlockViewsRef> places_;
  BlockViewsRef current_;
};

}  // namespace dlo::model
