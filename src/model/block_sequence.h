// Owns: BlockSequence, the order in which a model's blocks are launched and its observer called:
// before_block(i), launch of block i on the compute stream, after_block(i). No observer is the
// resident baseline: the same code, one pointer apart. This header is free of torch.
// Must not own: what a block computes (BlockCompute), weights, transfers.
// Threading: launching thread. compute_block runs later, on the compute stream, with the views that
// its binding had at launch.
#pragma once

#include <cstdint>
#include <vector>

#include "contracts/block_observer.h"
#include "model/dit_model.h"
#include "model/torch_binding.h"
#include "platform/device.h"

namespace dlo::model {

// What one block does. Implemented by a model; outlives the tasks.
class BlockCompute {
 public:
  virtual ~BlockCompute() = default;

  // Runs on the compute stream under c10::InferenceMode, after every block that was launched
  // before.
  virtual void compute_block(std::uint32_t block, const BlockViews& views, DitCall& call) = 0;
};

class BlockSequence {
 public:
  // `ring` goes into the labels of the launched operations. Bindings are not owned and stay in
  // ring order.
  BlockSequence(std::int32_t ring, std::vector<const TorchBlockBinding*> bindings);

  void set_observer(contracts::BlockObserver* observer) { observer_ = observer; }

  // Launches every block once, in ring order. Allocates nothing. Throws RunError placeholder_read
  // when a block is at its placeholder after before_block, and what the observer throws. A torch
  // exception of a block fails the device as model/torch_task.h says.
  void run(platform::Device& device, BlockCompute& compute, DitCall& call) const;

 private:
  std::int32_t ring_;
  std::vector<const TorchBlockBinding*> bindings_;
  contracts::BlockObserver* observer_ = nullptr;
};

}  // namespace dlo::model
