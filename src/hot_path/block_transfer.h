// Owns: BlockTransfer, the interface by which one block reaches one slot, and the values of it.
// Must not own: the choice of block or slot (block_ring.h), buffers (backend).
// Order: load() issues everything that fills the slot: it waits for load.free before the first
// byte of the slot is written and records load.ready behind the last one. It returns at once;
// failures surface as the device's failure. Allocates nothing.
// Implemented by RankLocalTransfer, StagedTransfer and AllGatherTransfer.
#pragma once

#include <cstdint>
#include <vector>

#include "base/tensor_view.h"
#include "contracts/block_layout.h"
#include "platform/device.h"

namespace dlo::hot_path {

// Where this rank's bytes of one streamed block lie on the host: the whole padded block with a
// group of one, its shard (chunk-major) otherwise.
struct BlockSource {
  ConstByteSpan host;  // shard.shard_bytes() bytes
  contracts::ShardLayout shard;
};

// Sources by ring and block.
using RingSources = std::vector<std::vector<BlockSource>>;

// One load: which block into which slot.
struct BlockLoad {
  std::uint32_t ring = 0;
  std::uint32_t block = 0;
  std::uint32_t slot = 0;
  DeviceSpan slot_span;
  platform::EventId ready;
  platform::EventId free;

  [[nodiscard]] platform::OpLabel label(platform::Site site, std::int32_t chunk = -1) const {
    return platform::OpLabel{site, static_cast<std::int32_t>(ring),
                             static_cast<std::int32_t>(block), static_cast<std::int32_t>(slot),
                             chunk};
  }
};

class BlockTransfer {
 public:
  virtual ~BlockTransfer() = default;

  // Set-up, once: loads will go to `slots` again and again. The answer is this rank's.
  [[nodiscard]] virtual Status prepare(const std::vector<DeviceSpan>& /*slots*/) { return {}; }
  virtual void load(const BlockLoad& load) = 0;
};

}  // namespace dlo::hot_path
