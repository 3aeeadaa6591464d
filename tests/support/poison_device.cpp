#include "tests/support/poison_device.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "tests/support/native_fill.h"

namespace dlo::test_support {

using platform::MemoryPurpose;
using platform::OpLabel;
using platform::Site;
using platform::StreamKind;

namespace {

constexpr int kPoison = 0xFF;

using Slots = std::vector<DeviceSpan>;

// Strikes its slot off the list when it goes.
class SlotBuffer final : public platform::DeviceBuffer {
 public:
  SlotBuffer(std::unique_ptr<platform::DeviceBuffer> inner, std::shared_ptr<Slots> slots)
      : inner_(std::move(inner)), slots_(std::move(slots)) {
    slots_->push_back(inner_->span());
  }
  SlotBuffer(const SlotBuffer&) = delete;
  SlotBuffer& operator=(const SlotBuffer&) = delete;
  ~SlotBuffer() override {
    slots_->erase(std::find(slots_->begin(), slots_->end(), inner_->span()));
  }

  [[nodiscard]] DeviceSpan span() const override { return inner_->span(); }

 private:
  std::unique_ptr<platform::DeviceBuffer> inner_;
  std::shared_ptr<Slots> slots_;
};

}  // namespace

PoisonDevice::PoisonDevice(std::unique_ptr<platform::Device> inner, When when)
    : ForwardingDevice(std::move(inner)), when_(when), slots_(std::make_shared<Slots>()) {}

Result<std::unique_ptr<platform::DeviceBuffer>> PoisonDevice::allocate_device(
    std::uint64_t bytes, MemoryPurpose purpose) {
  auto buffer = ForwardingDevice::allocate_device(bytes, purpose);
  if (!buffer.ok() || purpose != MemoryPurpose::kSlot) {
    return buffer;
  }
  return std::unique_ptr<platform::DeviceBuffer>(
      std::make_unique<SlotBuffer>(std::move(buffer).value(), slots_));
}

void PoisonDevice::record(platform::EventId event, StreamKind stream, const OpLabel& label) {
  if (when_ == When::kGivenBack && label.site == Site::kFreeRecord) {
    poison(label);
  }
  ForwardingDevice::record(event, stream, label);
}

void PoisonDevice::wait(StreamKind stream, platform::EventId event, const OpLabel& label) {
  ForwardingDevice::wait(stream, event, label);
  if (when_ == When::kBeforeTheRead && label.site == Site::kReadyWait) {
    poison(label);
  }
}

void PoisonDevice::poison(const OpLabel& label) {
  const auto slot = static_cast<std::size_t>(label.slot);
  require(label.slot >= 0 && slot < slots_->size(), "a slot that nobody allocated");
  // Not of a site that tests hold up or take away.
  OpLabel own = label;
  own.site = Site::kModel;
  const auto native = inner().native_stream(StreamKind::kCompute);
  inner().launch(
      StreamKind::kCompute,
      [native, span = (*slots_)[slot]] {
        if (native.present()) {
          fill_native(native, span, kPoison);
        } else if (span.bytes > 0) {
          std::memset(span.data, kPoison, span.bytes);
        }
      },
      own);
}

}  // namespace dlo::test_support
