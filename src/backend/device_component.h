// Owns: DeviceComponent, an OnDemandComponent whose weights lie in ordinary host memory, as the
// loader made them, and come to the device as one buffer; the master stays on the host, so nothing
// is ever copied back.
// Must not own: host tensors, the binding behind them, or when its stage is (component_stages.h).
// Threading: launching thread. Failure: refusals; one for lack of memory or time leaves everything
// as it was. Source: behaviour.md 5.2 step 6 and 5.12.
// Deviates from vLLM-Omni: the host master is pageable and of the loader's own layout, where
// PinnedModuleStager keeps a pinned one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "backend/component_stages.h"
#include "contracts/block_layout.h"
#include "contracts/host_tensors.h"
#include "contracts/parameter_table.h"
#include "platform/device.h"

namespace dlo::backend {

class DeviceComponent final : public OnDemandComponent {
 public:
  // Creates one event. Everything passed outlives the component; `spec` has a binding and only
  // contiguous tensors, and `tensors` holds each of them. The binding is at its placeholder until
  // load().
  DeviceComponent(platform::Device& device, const contracts::BlockSpec& spec,
                  contracts::HostTensors& tensors);
  DeviceComponent(const DeviceComponent&) = delete;
  DeviceComponent& operator=(const DeviceComponent&) = delete;

  [[nodiscard]] std::string_view path() const override { return spec_.name; }
  [[nodiscard]] bool can_offload() const override { return !host_released_; }
  // Allocates, copies, waits until the bytes have landed and binds. Codes: device_out_of_memory,
  // dtype_mismatch, shape_mismatch; deadline_exceeded between two tensors, which gives everything
  // back once the copies before have landed. A device's failure, or deadline_exceeded with a copy
  // in flight, leaves the buffer to the destructor: then only the way down may follow, behind a
  // drained device.
  [[nodiscard]] Status load(Deadline deadline) override;
  // Waits for every stream, points the binding at its placeholder and frees the buffer. After a
  // refusal all is as before. Codes: a device's failure, deadline_exceeded.
  [[nodiscard]] Status offload(Deadline deadline) override;

  // Lets go of the host tensors of a component that stays. Precondition: it is loaded.
  void release_host();
  // Gives the buffer up without freeing it: a stream may still touch it.
  void abandon() noexcept;

  // Of its buffer, there or not.
  [[nodiscard]] std::uint64_t device_bytes() const { return layout_.bytes(); }
  // Held for it on the host: none once they were released.
  [[nodiscard]] std::uint64_t host_bytes() const {
    return host_released_ ? 0 : layout_.tensor_bytes();
  }

 private:
  // Issues the copies; looks at the deadline before each. Codes: deadline_exceeded.
  [[nodiscard]] Status copy_tensors(Deadline deadline);

  platform::Device& device_;
  const contracts::BlockSpec& spec_;
  contracts::HostTensors& tensors_;
  contracts::BlockLayout layout_;
  platform::EventId landed_;
  std::unique_ptr<platform::DeviceBuffer> buffer_;  // null: not on the device
  bool bound_ = false;
  bool host_released_ = false;
};

}  // namespace dlo::backend
