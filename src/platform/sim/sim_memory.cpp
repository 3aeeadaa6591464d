#include "platform/sim/sim_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/codes.h"

namespace dlo::platform::sim {

namespace {

struct FreeDeleter {
  void operator()(std::byte* bytes) const { std::free(bytes); }  // NOLINT: aligned_alloc's pair
};
using Block = std::unique_ptr<std::byte, FreeDeleter>;

Block make_block(std::uint64_t bytes) {
  if (bytes == 0) {
    return nullptr;
  }
  const auto rounded = round_up(bytes, kTensorAlignmentBytes);
  auto* data = static_cast<std::byte*>(std::aligned_alloc(kTensorAlignmentBytes, rounded));
  require(data != nullptr, "the simulator ran out of memory");
  std::memset(data, 0, rounded);
  return Block(data);
}

void grow(MemoryUse& use, std::uint64_t bytes) {
  use.now_bytes += bytes;
  use.peak_bytes = std::max(use.peak_bytes, use.now_bytes);
}

Refusal over_budget(std::string_view code, std::string_view kind, std::uint64_t bytes,
                    const MemoryUse& use, std::uint64_t budget) {
  return refuse(code,
                fmt::format("{} more bytes of {} memory exceed the budget of {} ({} in use)", bytes,
                            kind, budget, use.now_bytes),
                std::string(kind) + " memory", "raise the budget or stream with smaller slots");
}

}  // namespace

class SimDeviceBuffer : public DeviceBuffer {
 public:
  SimDeviceBuffer(std::shared_ptr<SimMemory> memory, std::uint64_t bytes, MemoryPurpose purpose)
      : memory_(std::move(memory)), block_(make_block(bytes)), bytes_(bytes), purpose_(purpose) {
    grow(memory_->device_, bytes_);
    grow(memory_->device_by_purpose_[static_cast<std::size_t>(purpose_)], bytes_);
    ++memory_->live_buffer_count_;
  }
  SimDeviceBuffer(const SimDeviceBuffer&) = delete;
  SimDeviceBuffer& operator=(const SimDeviceBuffer&) = delete;
  ~SimDeviceBuffer() override {
    memory_->device_.now_bytes -= bytes_;
    memory_->device_by_purpose_[static_cast<std::size_t>(purpose_)].now_bytes -= bytes_;
    --memory_->live_buffer_count_;
  }
  [[nodiscard]] DeviceSpan span() const override { return DeviceSpan{block_.get(), bytes_}; }

 private:
  std::shared_ptr<SimMemory> memory_;
  Block block_;
  std::uint64_t bytes_;
  MemoryPurpose purpose_;
};

class SimHostBuffer : public HostBuffer {
 public:
  SimHostBuffer(std::shared_ptr<SimMemory> memory, std::uint64_t bytes, bool pinned)
      : memory_(std::move(memory)), block_(make_block(bytes)), bytes_(bytes), pinned_(pinned) {
    grow(use(), bytes_);
    ++memory_->live_buffer_count_;
  }
  SimHostBuffer(const SimHostBuffer&) = delete;
  SimHostBuffer& operator=(const SimHostBuffer&) = delete;
  ~SimHostBuffer() override {
    use().now_bytes -= bytes_;
    --memory_->live_buffer_count_;
  }
  [[nodiscard]] ByteSpan span() const override { return ByteSpan(block_.get(), bytes_); }
  [[nodiscard]] bool pinned() const override { return pinned_; }

 private:
  [[nodiscard]] MemoryUse& use() { return pinned_ ? memory_->pinned_ : memory_->pageable_; }

  std::shared_ptr<SimMemory> memory_;
  Block block_;
  std::uint64_t bytes_;
  bool pinned_;
};

Result<std::unique_ptr<DeviceBuffer>> SimMemory::allocate_device(std::uint64_t bytes,
                                                                 MemoryPurpose purpose) {
  if (budgets_.device_bytes && device_.now_bytes + bytes > *budgets_.device_bytes) {
    return over_budget(codes::kDeviceOutOfMemory, "device", bytes, device_, *budgets_.device_bytes);
  }
  return std::unique_ptr<DeviceBuffer>(
      std::make_unique<SimDeviceBuffer>(shared_from_this(), bytes, purpose));
}

Result<std::unique_ptr<HostBuffer>> SimMemory::allocate_host(std::uint64_t bytes, bool pinned) {
  if (pinned && budgets_.pinned_bytes && pinned_.now_bytes + bytes > *budgets_.pinned_bytes) {
    return over_budget(codes::kPinFailed, "pinned", bytes, pinned_, *budgets_.pinned_bytes);
  }
  return std::unique_ptr<HostBuffer>(
      std::make_unique<SimHostBuffer>(shared_from_this(), bytes, pinned));
}

MemoryUse SimMemory::device(MemoryPurpose purpose) const {
  return device_by_purpose_[static_cast<std::size_t>(purpose)];
}

}  // namespace dlo::platform::sim
