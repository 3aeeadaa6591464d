#include "backend/device_component.h"

#include <utility>

#include "backend/given_up_buffers.h"
#include "backend/tensor_packer.h"
#include "base/codes.h"
#include "base/error.h"
#include "platform/clock.h"

namespace dlo::backend {

using platform::OpLabel;
using platform::Site;
using platform::StreamKind;

namespace {

constexpr OpLabel kLabel{.site = Site::kPlacement};

}  // namespace

DeviceComponent::DeviceComponent(platform::Device& device, const contracts::BlockSpec& spec,
                                 contracts::HostTensors& tensors)
    : device_(device),
      spec_(spec),
      tensors_(tensors),
      layout_(spec),
      landed_(device.create_event()) {}

Status DeviceComponent::load(Deadline deadline) {
  if (bound_) {
    return {};
  }
  require(buffer_ == nullptr, "a component whose load was refused is loaded again");
  for (const auto& spec : spec_.tensors) {
    if (auto checked = check_view(spec, tensors_.view(spec.name)); !checked.ok()) {
      return checked;
    }
  }
  auto buffer = device_.allocate_device(layout_.bytes(), platform::MemoryPurpose::kComponent);
  if (!buffer.ok()) {
    Refusal refusal = buffer.refusal();
    refusal.where = spec_.name;
    return refusal;
  }
  buffer_ = std::move(buffer).value();
  auto copied = copy_tensors(deadline);
  device_.record(landed_, StreamKind::kCopy, kLabel);
  if (auto landed = device_.wait_host(landed_, deadline, kLabel); !landed.ok()) {
    return landed;
  }
  if (!copied.ok()) {
    buffer_.reset();
    return copied;
  }
  spec_.binding->add_place(0, buffer_->span(), layout_);
  spec_.binding->bind(0);
  bound_ = true;
  return {};
}

// The driver reads pageable memory on this thread and knows no deadline. What bounds a copy is one
// tensor's bytes over the link: whatever the copy stream held before is done, for the allocation
// waited until the buffer was cleared behind it.
Status DeviceComponent::copy_tensors(Deadline deadline) {
  for (const auto& entry : layout_.entries()) {
    if (entry.span_bytes == 0) {
      continue;
    }
    const auto& name = spec_.tensors[entry.tensor_index].name;
    if (deadline.expired(device_.clock().now())) {
      return refuse(codes::kDeadlineExceeded,
                    "the component was not on the device in time: this tensor is not copied", name,
                    "look for a slow host or link, or raise the time limit");
    }
    device_.copy_to_device(StreamKind::kCopy,
                           buffer_->span().subspan(entry.offset_bytes, entry.span_bytes),
                           tensors_.view(name).bytes, kLabel);
  }
  return {};
}

Status DeviceComponent::offload(Deadline deadline) {
  if (!bound_) {
    return {};
  }
  if (auto idle = device_.synchronize(deadline); !idle.ok()) {
    return idle;
  }
  spec_.binding->forget_places();
  buffer_.reset();
  bound_ = false;
  return {};
}

void DeviceComponent::release_host() {
  require(bound_, "the host tensors of a component that is not on the device were released");
  host_released_ = true;
  for (const auto& spec : spec_.tensors) {
    tensors_.release(spec.name);
  }
}

void DeviceComponent::abandon() noexcept {
  if (buffer_ != nullptr) {
    give_up(std::move(buffer_));
  }
}

}  // namespace dlo::backend
