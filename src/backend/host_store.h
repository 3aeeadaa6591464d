// Owns: HostStore, one rank's private host copy of its streamed blocks: its shard of each with
// AllGather, the whole padded block otherwise, all in one allocation of exactly their sum.
// Must not own: the loader's tensors; it reads each once, run by run, and releases it, so that the
// last one of a mapped file closes it. Blocks that stay in mapped files: staging_store.h.
// Threading: launching thread, before the first transfer; read-only afterwards. Failure: refusals;
// a half-packed store is simply destroyed.
#pragma once

#include <memory>

#include "backend/given_up_buffers.h"
#include "backend/placement_plan.h"
#include "backend/transfer_plan.h"
#include "base/result.h"
#include "contracts/host_tensors.h"
#include "hot_path/block_transfer.h"
#include "platform/device.h"

namespace dlo::backend {

class HostStore {
 public:
  // Allocates pinned memory first and packs into it: nothing is pinned by copying. Zeroed, so pad
  // bytes are zero on every rank. Codes: pin_failed, host_out_of_memory.
  [[nodiscard]] static Result<HostStore> allocate(platform::Device& device,
                                                  const TransferPlan& plan);

  // Packs every streamed tensor and releases it at once. Codes: dtype_mismatch, shape_mismatch,
  // mapping_truncated.
  [[nodiscard]] Status pack(const PlacementPlan& placement, const TransferPlan& plan,
                            std::uint32_t group_rank, contracts::HostTensors& tensors);

  // Where each block of each ring lies. Valid as long as the store.
  [[nodiscard]] hot_path::RingSources sources(const TransferPlan& plan) const;

  // Gives the memory up without freeing it: a stream may still read it.
  void abandon() noexcept { give_up(std::move(buffer_)); }

 private:
  explicit HostStore(std::unique_ptr<platform::HostBuffer> buffer) : buffer_(std::move(buffer)) {}

  std::unique_ptr<platform::HostBuffer> buffer_;
};

}  // namespace dlo::backend
