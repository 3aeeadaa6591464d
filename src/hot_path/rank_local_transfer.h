// Owns: RankLocalTransfer: a private host copy of every streamed block, one copy a block.
// Must not own: the host copy or the slots. Pinned or pageable memory makes no difference here.
// Streams: copy waits for free[slot], copies the padded block, records ready[slot].
// Failure and threading: as BlockTransfer.
#pragma once

#include "hot_path/block_transfer.h"

namespace dlo::hot_path {

class RankLocalTransfer final : public BlockTransfer {
 public:
  // Precondition: every source belongs to a group of one.
  RankLocalTransfer(platform::Device& device, RingSources sources);

  void load(const BlockLoad& load) override;

 private:
  platform::Device& device_;
  RingSources sources_;
};

}  // namespace dlo::hot_path
