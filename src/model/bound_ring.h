// Owns: BoundRing, one ring of a model: its entry of the parameter table and the torch binding
// behind each of its blocks and behind its non-block children. This header is free of torch.
// Must not own: the bytes, or the order of launches (block_sequence.h).
// Threading: launching thread. Pinned in memory: bindings point into the table entry.
#pragma once

#include <memory>
#include <vector>

#include "contracts/parameter_table.h"
#include "model/torch_binding.h"

namespace dlo::model {

class BoundRing {
 public:
  // Binds every block of `spec`, whose bindings are null, to memory of `device`.
  BoundRing(contracts::DitSpec spec, ComputeDevice device);
  BoundRing(const BoundRing&) = delete;
  BoundRing& operator=(const BoundRing&) = delete;

  [[nodiscard]] const contracts::DitSpec& spec() const { return spec_; }
  // In ring order, as BlockSequence wants them.
  [[nodiscard]] std::vector<const TorchBlockBinding*> blocks() const;
  // The non-block children. Throws RunError placeholder_read.
  [[nodiscard]] BlockViewsRef edges() const { return edges_->current(); }

 private:
  contracts::DitSpec spec_;
  std::vector<std::unique_ptr<TorchBlockBinding>> bindings_;
  std::unique_ptr<TorchBlockBinding> edges_;
};

}  // namespace dlo::model
