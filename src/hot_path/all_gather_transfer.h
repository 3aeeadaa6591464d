// Owns: AllGatherTransfer: this rank's shard of every streamed block, chunk by chunk: H2D into an
// input slot, then AllGather from the input slots of all ranks into the slot. Two events an input
// slot.
// Must not own: shards, slots, input slots (backend), the communicator (engine).
// The H2D waits for input_free alone, never for the slot: the link runs ahead while the previous
// block is still gathered and computed. The gather's output is the slot narrowed to the chunk.
// Failure and threading: as BlockTransfer. All ranks of the group issue equal sequences.
#pragma once

#include "comm/communicator.h"
#include "hot_path/block_transfer.h"

namespace dlo::hot_path {

//   copy  | wait input_free[k]  H2D piece -> input k   record landed[k] | next chunk, k+1 mod K
//   comm  | wait free[slot] (first chunk)  wait landed[k]  gather chunk  record input_free[k]
//         | ... after the last chunk: record ready[slot]
class AllGatherTransfer final : public BlockTransfer {
 public:
  // Creates two events an input slot. Preconditions: at least one input slot, each holds the
  // largest piece; every source belongs to a group of communicator.size() ranks.
  AllGatherTransfer(platform::Device& device, comm::Communicator& communicator, RingSources sources,
                    const std::vector<DeviceSpan>& input_slots);

  [[nodiscard]] Status prepare(const std::vector<DeviceSpan>& slots) override;
  void load(const BlockLoad& load) override;

 private:
  struct InputSlot {
    DeviceSpan span;
    platform::EventId landed;
    platform::EventId input_free;
  };

  // Every gather that a load into one of `slots` may issue, once each.
  [[nodiscard]] std::vector<comm::PieceGather> gathers_into(
      const std::vector<DeviceSpan>& slots) const;
  // Issues the H2D of one piece; returns the input slot's part that holds it.
  DeviceSpan land(const BlockLoad& load, const BlockSource& source, std::size_t chunk);

  platform::Device& device_;
  comm::Communicator& communicator_;
  RingSources sources_;
  std::vector<InputSlot> inputs_;
  std::size_t next_input_ = 0;
};

}  // namespace dlo::hot_path
