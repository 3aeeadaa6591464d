// Owns: StagingStore, the bounded staging ring of one rank whose blocks stay in mapped files, and
// the tables by which blocks are packed into it.
// Must not own: the mapping or the packing (hot_path/chunk_packer.h).
// Threading: launching thread, before the first transfer. Failure: refusals.
#pragma once

#include <memory>
#include <vector>

#include "backend/given_up_buffers.h"
#include "backend/placement_plan.h"
#include "backend/transfer_plan.h"
#include "base/result.h"
#include "contracts/host_tensors.h"
#include "hot_path/chunk_packer.h"
#include "platform/device.h"

namespace dlo::backend {

class StagingStore {
 public:
  // One allocation of the plan's staging bytes. Codes: pin_failed, host_out_of_memory.
  [[nodiscard]] static Result<StagingStore> allocate(platform::Device& device,
                                                     const TransferPlan& plan);

  // The chunks of the ring. Valid as long as the store.
  [[nodiscard]] const std::vector<ByteSpan>& chunks() const { return chunks_; }

  // Gives the memory up without freeing it: a stream may still read it.
  void abandon() noexcept { give_up(std::move(buffer_)); }

 private:
  StagingStore(std::unique_ptr<platform::HostBuffer> buffer, const MemoryPlan& memory);

  std::unique_ptr<platform::HostBuffer> buffer_;
  std::vector<ByteSpan> chunks_;
};

// Where the tensors of `block` lie, in the order of its layout, padding as zeros.
// Codes: shape_mismatch.
[[nodiscard]] Result<hot_path::PackTable> make_pack_table(const BlockPlacement& block,
                                                          std::uint64_t block_bytes,
                                                          const contracts::HostTensors& tensors);

// The same for every block of every ring. `tensors` are read again on each load and kept.
[[nodiscard]] Result<hot_path::StagedSources> make_staged_sources(
    const PlacementPlan& placement, const TransferPlan& plan,
    const contracts::HostTensors& tensors);

}  // namespace dlo::backend
