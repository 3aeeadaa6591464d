// Goal: PoisonDevice bites: who reads a slot after after_block() gave it back reads 0xFF, which
// without it goes unnoticed, and who keeps to the protocol reads every block's own bytes.
// Method: a ring of three blocks over two slots on the CPU platform, its loads held back by a gate
// while the late reader reads.
#include "tests/support/poison_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "hot_path/block_ring.h"
#include "hot_path/rank_local_transfer.h"
#include "platform/cpu/cpu_device.h"
#include "platform/posix/steady_clock.h"
#include "tests/support/gate.h"
#include "tests/support/pointer_binding.h"

namespace dlo::hot_path {
namespace {

using platform::MemoryPurpose;
using platform::OpLabel;
using platform::Site;
using platform::StreamKind;
using test_support::Gate;
using test_support::PoisonDevice;

constexpr std::size_t kBlockBytes = 256;
constexpr std::uint32_t kRingBlocks = 3;
constexpr std::size_t kSlots = 2;
constexpr std::byte kPoison{0xFF};
constexpr OpLabel kReads{Site::kCompute, -1, -1, -1, -1};

using Bytes = std::array<std::byte, kBlockBytes>;

bool all_are(const Bytes& bytes, std::byte value) {
  return std::all_of(bytes.begin(), bytes.end(), [value](std::byte b) { return b == value; });
}

std::byte byte_of(std::uint32_t block) {
  return static_cast<std::byte>(block + 1);
}

class PoisonDeviceTest : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<platform::Device> cpu_device() {
    return platform::make_cpu_device({}, clock_, *signal_);
  }
  [[nodiscard]] Deadline late() const { return Deadline::after(clock_.now(), 30 * kSecond); }

  // What is in `span` when compute gets there.
  [[nodiscard]] Bytes read(platform::Device& device, DeviceSpan span) const {
    Bytes bytes{};
    const auto done = device.create_event();
    device.copy_to_host(StreamKind::kCompute, bytes, span, kReads);
    device.record(done, StreamKind::kCompute, kReads);
    EXPECT_TRUE(device.wait_host(done, late(), kReads).ok());
    return bytes;
  }

  platform::SteadyClock clock_;
  std::unique_ptr<FailureSignal> signal_ = make_local_failure_signal();
};

// One ring on `device`, primed.
class SmallRing {
 public:
  explicit SmallRing(platform::Device& device) : device_(device) {
    const contracts::ShardLayout shard(kBlockBytes, 1, 0);
    RingSources sources(1);
    std::vector<contracts::BlockBinding*> bindings;
    for (std::uint32_t b = 0; b < kRingBlocks; ++b) {
      host_.at(b).fill(byte_of(b));
      sources.front().push_back(BlockSource{host_.at(b), shard});
      bindings.push_back(&bindings_.at(b));
    }
    std::vector<DeviceSpan> spans;
    for (auto& slot : slots_) {
      slot = device.allocate_device(kBlockBytes, MemoryPurpose::kSlot).value();
      spans.push_back(slot->span());
    }
    pool_ = std::make_unique<SlotPool>(device, spans);
    transfer_ = std::make_unique<RankLocalTransfer>(device, std::move(sources));
    const ChainedRing walked{0, kRingBlocks, 0};
    chain_ = std::make_unique<PrefetchChain>(*pool_, *transfer_,
                                             ChainOptions{0, kSlots - 1, MissPolicy::kRepair},
                                             std::vector<ChainedRing>{walked});
    ring_ = std::make_unique<BlockRing>(device, *pool_, *chain_, nullptr, walked, bindings);
    chain_->prime();
  }
  ~SmallRing() { EXPECT_TRUE(device_.synchronize({}).ok()); }
  SmallRing(const SmallRing&) = delete;
  SmallRing& operator=(const SmallRing&) = delete;

  [[nodiscard]] BlockRing& ring() { return *ring_; }
  // Where the running block's weights are.
  [[nodiscard]] DeviceSpan bound(std::uint32_t block) const {
    return pool_->span(static_cast<SlotIndex>(bindings_.at(block).at));
  }

 private:
  platform::Device& device_;
  std::array<Bytes, kRingBlocks> host_{};
  std::array<test::PointerBinding, kRingBlocks> bindings_;
  std::array<std::unique_ptr<platform::DeviceBuffer>, kSlots> slots_;
  std::unique_ptr<SlotPool> pool_;
  std::unique_ptr<RankLocalTransfer> transfer_;
  std::unique_ptr<PrefetchChain> chain_;
  std::unique_ptr<BlockRing> ring_;
};

class LateReadTest : public PoisonDeviceTest {
 protected:
  // Block 0's slot, read after after_block(0) and before the next load of it.
  [[nodiscard]] Bytes late_read(platform::Device& device) const {
    SmallRing ring(device);
    ring.ring().before_block(0);
    const auto slot = ring.bound(0);
    EXPECT_TRUE(all_are(read(device, slot), byte_of(0)));
    Gate gate;
    const auto passed = device.create_event();
    device.launch(
        StreamKind::kCopy, [&gate] { gate.pass(); }, kReads);
    device.record(passed, StreamKind::kCopy, kReads);
    ring.ring().after_block(0);
    const auto bytes = read(device, slot);
    gate.open();
    EXPECT_TRUE(device.wait_host(passed, late(), kReads).ok());
    return bytes;
  }
};

TEST_F(LateReadTest, WithoutPoison_GoesUnnoticed) {
  const auto device = cpu_device();
  EXPECT_TRUE(all_are(late_read(*device), byte_of(0)));
}

TEST_F(LateReadTest, WithPoison_ReadsPoison) {
  PoisonDevice device(cpu_device());
  EXPECT_TRUE(all_are(late_read(device), kPoison));
}

TEST_F(PoisonDeviceTest, ReadsWithinTheProtocol_SeeEveryBlock) {
  PoisonDevice device(cpu_device());
  SmallRing ring(device);
  for (int forward = 0; forward < 3; ++forward) {
    for (std::uint32_t block = 0; block < kRingBlocks; ++block) {
      ring.ring().before_block(block);
      EXPECT_TRUE(all_are(read(device, ring.bound(block)), byte_of(block))) << block;
      ring.ring().after_block(block);
    }
  }
}

TEST_F(PoisonDeviceTest, BeforeTheRead_BlocksAreGone) {
  PoisonDevice device(cpu_device(), PoisonDevice::When::kBeforeTheRead);
  SmallRing ring(device);
  ring.ring().before_block(0);
  EXPECT_TRUE(all_are(read(device, ring.bound(0)), kPoison));
  ring.ring().after_block(0);
}

// Slots are counted among those that are alive, and no other memory is.
TEST_F(PoisonDeviceTest, SlotsOfASecondStore_AreItsOwn) {
  PoisonDevice device(cpu_device());
  static_cast<void>(device.allocate_device(kBlockBytes, MemoryPurpose::kSlot).value());
  const auto other = device.allocate_device(kBlockBytes, MemoryPurpose::kInputSlot).value();
  const auto first = device.allocate_device(kBlockBytes, MemoryPurpose::kSlot).value();
  const auto second = device.allocate_device(kBlockBytes, MemoryPurpose::kSlot).value();
  const auto free = device.create_event();
  device.record(free, StreamKind::kCompute, OpLabel{Site::kFreeRecord, 0, 0, 1, -1});
  EXPECT_TRUE(all_are(read(device, second->span()), kPoison));
  EXPECT_TRUE(all_are(read(device, first->span()), std::byte{0}));
  EXPECT_TRUE(all_are(read(device, other->span()), std::byte{0}));
}

}  // namespace
}  // namespace dlo::hot_path
