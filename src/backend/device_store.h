// Owns: DeviceStore, the device buffers of one rank: slots, input slots, resident blocks and
// non-block children, and the one-time copy of the resident ones to their places, from mapped files
// through a bounded buffer. Blocks that are resident for a stage: resident_group.h.
// Must not own: bindings or the hot path. Every buffer is laid out as its BlockLayout, the
// resident baseline included.
// Threading: launching thread. Failure: refusals; half a store is simply destroyed.
#pragma once

#include <memory>
#include <vector>

#include "backend/placement_plan.h"
#include "backend/transfer_plan.h"
#include "base/deadline.h"
#include "base/result.h"
#include "contracts/host_tensors.h"
#include "platform/device.h"

namespace dlo::backend {

// A resident block or a component's non-block children.
struct ResidentPlace {
  const BlockPlacement* placement = nullptr;
  DeviceSpan span;
  platform::OpLabel label;  // of its placement copies
};

class DeviceStore {
 public:
  // Codes: device_out_of_memory. `placement` outlives the store.
  [[nodiscard]] static Result<DeviceStore> allocate(platform::Device& device,
                                                    const PlacementPlan& placement,
                                                    const TransferPlan& plan);

  // Copies every resident tensor to its place, block by block, and releases it when it has landed.
  // Codes: dtype_mismatch, shape_mismatch, mapping_truncated, host_out_of_memory, a device's
  // failure.
  // `timeout` bounds each wait for the device, not the reading of files between them.
  [[nodiscard]] Status place(platform::Device& device, contracts::HostTensors& tensors,
                             Nanoseconds timeout);

  [[nodiscard]] const std::vector<DeviceSpan>& slots() const { return slots_; }
  [[nodiscard]] const std::vector<DeviceSpan>& input_slots() const { return input_slots_; }
  [[nodiscard]] const std::vector<ResidentPlace>& residents() const { return residents_; }

  // Gives the buffers up without freeing them: a stream may still touch them.
  void abandon() noexcept;

 private:
  DeviceStore() = default;

  // Issues the copies of one block.
  [[nodiscard]] Status place_block(platform::Device& device, const ResidentPlace& resident,
                                   const contracts::HostTensors& tensors);

  // Copies one block piece by piece, each behind the last one's arrival.
  [[nodiscard]] Status place_mapped_block(platform::Device& device, const ResidentPlace& resident,
                                          const contracts::HostTensors& tensors,
                                          Nanoseconds timeout);

  std::vector<std::unique_ptr<platform::DeviceBuffer>> buffers_;
  // Strided tensors of one block, or a piece of a mapped one.
  std::vector<std::unique_ptr<platform::HostBuffer>> staging_;
  std::vector<DeviceSpan> slots_;
  std::vector<DeviceSpan> input_slots_;
  std::vector<ResidentPlace> residents_;
};

}  // namespace dlo::backend
