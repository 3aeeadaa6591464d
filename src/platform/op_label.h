// Owns: OpLabel, the name of one stream operation: which site of the protocol issued it and for
// which ring, block, slot and chunk. Counters, traces, fault decorators and the mutation proof find
// an operation by its label.
// Must not own: behaviour. No operation may depend on its label.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dlo::platform {

enum class Site : std::uint8_t {
  kPlacement,          // enable-time copy of resident weights and non-block children
  kH2d,                // hot-path copy, host to slot or host to input slot
  kGather,             // weight AllGather of one chunk
  kCompute,            // a block's compute
  kModel,              // model work outside the blocks: embeddings, scheduler
  kOutput,             // device to host copy of a result
  kReadyRecord,        // slot holds the block: recorded on copy (rank-local) or comm (AllGather)
  kReadyWait,          // compute waits for the slot's ready event
  kFreeRecord,         // last kernel that reads the slot: recorded on compute
  kFreeWait,           // copy or comm waits for the slot's free event
  kLandedRecord,       // piece has landed in its input slot: recorded on copy
  kLandedWait,         // comm waits for the landed event
  kInputFreeRecord,    // gather has read its input slot: recorded on comm
  kInputFreeWait,      // copy waits before it overwrites an input slot
  kPack,               // mapped weights into a staging chunk, on the pack stream: the chunk is
                       // finished, the next one begun; without a chunk: a block's first one begun
  kPackedRecord,       // chunk is packed: recorded on pack
  kPackedWait,         // copy waits for the packed event
  kStagingFreeRecord,  // chunk has been copied: recorded on copy
  kStagingFreeWait,    // pack waits before it overwrites a staging chunk
  kGatherStaging,      // copies of a gather that goes through host memory
  kDrain,              // waits of drain and disable()
};

[[nodiscard]] std::string_view site_name(Site site);

struct OpLabel {
  Site site = Site::kModel;
  std::int32_t ring = -1;
  std::int32_t block = -1;
  // Output slot; input slot for landed and input_free sites; staging chunk for pack, packed and
  // staging_free sites.
  std::int32_t slot = -1;
  std::int32_t chunk = -1;

  friend bool operator==(const OpLabel&, const OpLabel&) = default;
};

// "ready_wait ring 0 block 3 slot 1" (parts that are -1 are left out).
[[nodiscard]] std::string label_text(const OpLabel& label);

}  // namespace dlo::platform
