// Owns: PoisonDevice, the decorator that fills a slot with 0xFF bytes when it is given back, in
// stream order behind the last kernel that may read it: whoever reads the slot after that reads
// NaNs instead of bytes that happen to be right still. Test-only.
// Sound because a slot that was given back is never read again before it was loaded anew, and that
// load waits for the free event, so for the fill. Slots of skipped blocks, and those that another
// chain takes, are given up without a free event: they keep their bytes.
// Must not own: the protocol; it looks at labels alone. Threading: the launching thread, buffers'
// destructors too. Failure: as the device below; a slot that nobody allocated is a LogicError.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "platform/forwarding_device.h"

namespace dlo::test_support {

class PoisonDevice final : public platform::ForwardingDevice {
 public:
  // kGivenBack is what the protocol allows. kBeforeTheRead fills a slot that is still to be read,
  // which shows that the fill reaches what compute reads.
  enum class When { kGivenBack, kBeforeTheRead };

  // Put it around other decorators: one that drops the free event must not keep the fill away.
  explicit PoisonDevice(std::unique_ptr<platform::Device> inner, When when = When::kGivenBack);

  // A slot's index is its place among the kSlot buffers that are alive, in order of allocation, as
  // in backend::DeviceStore: one store at a time.
  [[nodiscard]] Result<std::unique_ptr<platform::DeviceBuffer>> allocate_device(
      std::uint64_t bytes, platform::MemoryPurpose purpose) override;
  void record(platform::EventId event, platform::StreamKind stream,
              const platform::OpLabel& label) override;
  void wait(platform::StreamKind stream, platform::EventId event,
            const platform::OpLabel& label) override;

 private:
  void poison(const platform::OpLabel& label);

  When when_;
  std::shared_ptr<std::vector<DeviceSpan>> slots_;  // buffers may outlive the device
};

}  // namespace dlo::test_support
