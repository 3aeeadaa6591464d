#include "backend/resident_group.h"

#include <limits>
#include <utility>

#include "backend/given_up_buffers.h"

namespace dlo::backend {

using platform::OpLabel;
using platform::Site;
using platform::StreamKind;

namespace {

constexpr std::uint32_t kNoSlot = std::numeric_limits<std::uint32_t>::max();  // -1 in labels

}  // namespace

ResidentGroup::ResidentGroup(platform::Device& device, hot_path::BlockTransfer& transfer,
                             std::vector<Member> members)
    : device_(device),
      transfer_(transfer),
      members_(std::move(members)),
      ready_(device.create_event()),
      always_free_(device.create_event()) {}

Status ResidentGroup::load() {
  if (!buffers_.empty()) {
    return {};
  }
  std::vector<std::unique_ptr<platform::DeviceBuffer>> buffers;
  for (const auto& member : members_) {
    auto buffer = device_.allocate_device(member.placement->layout.bytes(),
                                          platform::MemoryPurpose::kResident);
    if (!buffer.ok()) {
      return buffer.refusal();
    }
    buffers.push_back(std::move(buffer).value());
  }
  buffers_ = std::move(buffers);
  ++load_count_;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const auto& member = members_[m];
    const auto span = buffers_[m]->span();
    transfer_.load({member.ring, member.block, kNoSlot, span, ready_, always_free_});
    auto& binding = *member.placement->spec->binding;
    binding.forget_places();
    binding.add_place(0, span, member.placement->layout);
    binding.bind(0);
  }
  // The copy stream is in order: behind the last record lie all of them.
  device_.wait(StreamKind::kCompute, ready_, OpLabel{Site::kReadyWait, -1, -1, -1, -1});
  return {};
}

Status ResidentGroup::drop(Deadline deadline) {
  if (buffers_.empty()) {
    return {};
  }
  auto idle = device_.synchronize(deadline);
  if (!idle.ok()) {
    return idle;
  }
  for (const auto& member : members_) {
    member.placement->spec->binding->forget_places();
  }
  buffers_.clear();
  return {};
}

void ResidentGroup::abandon() noexcept {
  for (auto& buffer : buffers_) {
    give_up(std::move(buffer));
  }
}

}  // namespace dlo::backend
