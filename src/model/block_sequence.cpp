#include "model/block_sequence.h"

#include <utility>

#include "model/torch_task.h"

namespace dlo::model {

BlockSequence::BlockSequence(std::int32_t ring, std::vector<const TorchBlockBinding*> bindings)
    : ring_(ring), bindings_(std::move(bindings)) {}

void BlockSequence::run(platform::Device& device, BlockCompute& compute, DitCall& call) const {
  for (std::uint32_t block = 0; block < bindings_.size(); ++block) {
    if (observer_ != nullptr) {
      observer_->before_block(block);
    }
    platform::OpLabel label;
    label.site = platform::Site::kCompute;
    label.ring = ring_;
    label.block = static_cast<std::int32_t>(block);
    device.launch(
        platform::StreamKind::kCompute,
        [&compute, &call, block, label, views = bindings_[block]->current()] {
          run_torch_task(label, [&] { compute.compute_block(block, *views, call); });
        },
        label);
    if (observer_ != nullptr) {
      observer_->after_block(block);
    }
  }
}

}  // namespace dlo::model
