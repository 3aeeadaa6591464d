#include "backend/device_store.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backend/given_up_buffers.h"
#include "backend/staging_store.h"
#include "backend/tensor_packer.h"
#include "platform/clock.h"

namespace dlo::backend {

using platform::MemoryPurpose;
using platform::OpLabel;
using platform::Site;
using platform::StreamKind;

namespace {

// Host memory through which mapped bytes go to their resident places.
constexpr std::uint64_t kBounceBytes = 16 * kMiB;

using Buffers = std::vector<std::unique_ptr<platform::DeviceBuffer>>;

Result<DeviceSpan> add_buffer(platform::Device& device, std::uint64_t bytes, MemoryPurpose purpose,
                              Buffers& buffers) {
  auto buffer = device.allocate_device(bytes, purpose);
  if (!buffer.ok()) {
    return buffer.refusal();
  }
  buffers.push_back(std::move(buffer).value());
  return buffers.back()->span();
}

Status add_buffers(platform::Device& device, std::uint32_t count, std::uint64_t bytes,
                   MemoryPurpose purpose, Buffers& buffers, std::vector<DeviceSpan>& spans) {
  for (std::uint32_t i = 0; i < count; ++i) {
    auto span = add_buffer(device, bytes, purpose, buffers);
    if (!span.ok()) {
      return span.refusal();
    }
    spans.push_back(*span);
  }
  return {};
}

Status finish(platform::Device& device, Nanoseconds timeout) {
  return device.synchronize(Deadline::after(device.clock().now(), timeout));
}

// What is resident, in placement order: each DiT's blocks, then its non-block children.
std::vector<ResidentPlace> resident_places(const PlacementPlan& placement) {
  std::vector<ResidentPlace> places;
  for (std::size_t d = 0; d < placement.dits.size(); ++d) {
    const auto& dit = placement.dits[d];
    OpLabel label{Site::kPlacement, static_cast<std::int32_t>(d), -1, -1, -1};
    for (std::size_t b = 0; b < dit.blocks.size() && !dit.offloaded(); ++b) {
      label.block = static_cast<std::int32_t>(b);
      places.push_back(ResidentPlace{&dit.blocks[b], {}, label});
    }
    label.block = -1;
    if (dit.non_block.spec->binding != nullptr) {
      places.push_back(ResidentPlace{&dit.non_block, {}, label});
    }
  }
  return places;
}

}  // namespace

Result<DeviceStore> DeviceStore::allocate(platform::Device& device, const PlacementPlan& placement,
                                          const TransferPlan& plan) {
  DeviceStore store;
  const auto& memory = plan.memory;
  auto added = add_buffers(device, memory.slot_count, memory.slot_bytes, MemoryPurpose::kSlot,
                           store.buffers_, store.slots_);
  if (added.ok()) {
    added = add_buffers(device, memory.input_slot_count, memory.input_slot_bytes,
                        MemoryPurpose::kInputSlot, store.buffers_, store.input_slots_);
  }
  if (!added.ok()) {
    return added.refusal();
  }
  store.residents_ = resident_places(placement);
  for (auto& resident : store.residents_) {
    const bool block = resident.label.block >= 0;
    auto span =
        add_buffer(device, resident.placement->layout.bytes(),
                   block ? MemoryPurpose::kResident : MemoryPurpose::kNonBlock, store.buffers_);
    if (!span.ok()) {
      return span.refusal();
    }
    resident.span = *span;
  }
  return store;
}

Status DeviceStore::place_block(platform::Device& device, const ResidentPlace& resident,
                                const contracts::HostTensors& tensors) {
  for (const auto& entry : resident.placement->layout.entries()) {
    const auto& spec = resident.placement->spec->tensors[entry.tensor_index];
    const auto view = tensors.view(spec.name);
    auto checked = check_view(spec, view);
    if (!checked.ok()) {
      return checked;
    }
    if (entry.span_bytes == 0) {
      continue;
    }
    ConstByteSpan source = view.bytes;
    if (!is_contiguous(spec)) {
      auto strided = device.allocate_pageable(entry.span_bytes, MemoryPurpose::kStaging);
      if (!strided.ok()) {
        return strided.refusal();
      }
      const ByteSpan span = strided.value()->span();
      for_each_run(spec, view, [&](std::uint64_t offset_bytes, ConstByteSpan bytes) {
        std::memcpy(span.data() + offset_bytes, bytes.data(), bytes.size());
      });
      source = span;
      staging_.push_back(std::move(strided).value());
    }
    device.copy_to_device(StreamKind::kCopy,
                          resident.span.subspan(entry.offset_bytes, entry.span_bytes), source,
                          resident.label);
  }
  return {};
}

Status DeviceStore::place_mapped_block(platform::Device& device, const ResidentPlace& resident,
                                       const contracts::HostTensors& tensors, Nanoseconds timeout) {
  const auto total_bytes = resident.span.bytes;
  auto table = make_pack_table(*resident.placement, total_bytes, tensors);
  if (!table.ok()) {
    return table.refusal();
  }
  auto bounce =
      device.allocate_pageable(std::min(kBounceBytes, total_bytes), MemoryPurpose::kStaging);
  if (!bounce.ok()) {
    return bounce.refusal();
  }
  staging_.push_back(std::move(bounce).value());
  Status placed;
  for (std::uint64_t done = 0; done < total_bytes && placed.ok();) {
    const auto piece = staging_.back()->span().first(std::min(kBounceBytes, total_bytes - done));
    table->fill(done, piece);
    device.copy_to_device(StreamKind::kCopy, resident.span.subspan(done, piece.size()), piece,
                          resident.label);
    placed = finish(device, timeout);
    done += piece.size();
  }
  return placed.ok() ? contracts::check_intact(tensors, resident.placement->spec->name) : placed;
}

Status DeviceStore::place(platform::Device& device, contracts::HostTensors& tensors,
                          Nanoseconds timeout) {
  const bool mapped = tensors.backing() != contracts::Backing::kOrdinary;
  for (const auto& resident : residents_) {
    auto placed = mapped ? place_mapped_block(device, resident, tensors, timeout)
                         : place_block(device, resident, tensors);
    if (placed.ok()) {
      placed = finish(device, timeout);
    }
    if (!placed.ok()) {
      return placed;
    }
    staging_.clear();
    for (const auto& spec : resident.placement->spec->tensors) {
      tensors.release(spec.name);
    }
  }
  return {};
}

void DeviceStore::abandon() noexcept {
  input_slots_.clear();  // nobody forgets what a stream may still read
  for (auto& buffer : buffers_) {
    give_up(std::move(buffer));
  }
  for (auto& buffer : staging_) {
    give_up(std::move(buffer));
  }
}

}  // namespace dlo::backend
