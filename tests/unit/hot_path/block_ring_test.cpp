// Goal: the exact sequence of stream operations of a ring, for every shape of ring, depth, chunk
// count and number of input slots that matters.
// Method: two sequences are written out for readers; the others are held against closed forms that
// share no code with the ring: load k carries block k mod n into slot k mod S, step j computes in
// slot j mod S, and chunk number c of all loads lands in input slot c mod K.
#include "hot_path/block_ring.h"

#include <gtest/gtest.h>

#include "base/codes.h"
#include "base/error.h"
#include "tests/unit/hot_path/ring_fixture.h"

namespace dlo::hot_path {
namespace {

using platform::OpLabel;
using platform::Site;
using platform::StreamKind;
using test::FixtureOptions;
using test::in_order;
using test::OpKind;
using test::OpRecord;
using test::RingFixture;

TEST(BlockRing, ThreeBlocksTwoSlotsRankLocal_IssuesThisSequence) {
  RingFixture fixture(FixtureOptions{.rings = {{512, 512, 512}}});
  fixture.chain().prime();
  fixture.walk({0, 1});
  const std::vector<std::string> expected = {
      "copy: wait free_wait ring 0 block 0 slot 0",
      "copy: copy h2d ring 0 block 0 slot 0 512 B",
      "copy: record ready_record ring 0 block 0 slot 0",
      "copy: wait free_wait ring 0 block 1 slot 1",
      "copy: copy h2d ring 0 block 1 slot 1 512 B",
      "copy: record ready_record ring 0 block 1 slot 1",
      "compute: wait ready_wait ring 0 block 0 slot 0",
      "compute: launch compute ring 0 block 0",
      "compute: record free_record ring 0 block 0 slot 0",
      "copy: wait free_wait ring 0 block 2 slot 0",
      "copy: copy h2d ring 0 block 2 slot 0 512 B",
      "copy: record ready_record ring 0 block 2 slot 0",
      "compute: wait ready_wait ring 0 block 1 slot 1",
      "compute: launch compute ring 0 block 1",
      "compute: record free_record ring 0 block 1 slot 1",
      "copy: wait free_wait ring 0 block 0 slot 1",
      "copy: copy h2d ring 0 block 0 slot 1 512 B",
      "copy: record ready_record ring 0 block 0 slot 1",
  };
  EXPECT_EQ(fixture.device.texts(), expected);
}

TEST(BlockRing, OneLoadByAllGather_CopiesAheadAndGathersIntoTheNarrowedSlot) {
  RingFixture fixture(FixtureOptions{.rings = {{512, 2048}}, .group_size = 2, .chunk_bytes = 512});
  fixture.chain().prime();
  const std::vector<std::string> expected = {
      "comm: wait free_wait ring 0 block 0 slot 0",
      "copy: wait input_free_wait ring 0 block 0 slot 0 chunk 0",
      "copy: copy h2d ring 0 block 0 slot 0 chunk 0 256 B",
      "copy: record landed_record ring 0 block 0 slot 0 chunk 0",
      "comm: wait landed_wait ring 0 block 0 slot 0 chunk 0",
      "comm: gather gather ring 0 block 0 slot 0 chunk 0 512 B",
      "comm: record input_free_record ring 0 block 0 slot 0 chunk 0",
      "comm: record ready_record ring 0 block 0 slot 0",
      "comm: wait free_wait ring 0 block 1 slot 1",
      "copy: wait input_free_wait ring 0 block 1 slot 1 chunk 0",
      "copy: copy h2d ring 0 block 1 slot 1 chunk 0 512 B",
      "copy: record landed_record ring 0 block 1 slot 1 chunk 0",
      "comm: wait landed_wait ring 0 block 1 slot 1 chunk 0",
      "comm: gather gather ring 0 block 1 slot 1 chunk 0 1024 B",
      "comm: record input_free_record ring 0 block 1 slot 1 chunk 0",
      "copy: wait input_free_wait ring 0 block 1 slot 0 chunk 1",
      "copy: copy h2d ring 0 block 1 slot 1 chunk 1 512 B",
      "copy: record landed_record ring 0 block 1 slot 0 chunk 1",
      "comm: wait landed_wait ring 0 block 1 slot 0 chunk 1",
      "comm: gather gather ring 0 block 1 slot 1 chunk 1 1024 B",
      "comm: record input_free_record ring 0 block 1 slot 0 chunk 1",
      "comm: record ready_record ring 0 block 1 slot 1",
  };
  EXPECT_EQ(fixture.device.texts(), expected);
}

// Uneven blocks: 1 to 5 KiB.
std::uint64_t block_bytes(std::uint64_t block) {
  return (block % 5 + 1) * kKiB;
}

struct Shape {
  std::uint32_t blocks;
  std::uint32_t depth;
  std::uint32_t group_size;
  std::uint64_t chunk_bytes;
  std::uint32_t input_slots;
};

class Expectation {
 public:
  explicit Expectation(const Shape& shape)
      : shape_(shape), slots_(std::min(shape.depth, shape.blocks - 1) + 1) {}

  std::vector<OpRecord> run(std::uint32_t forwards) {
    for (std::uint64_t k = 0; k < slots_; ++k) {
      load(k);
    }
    for (std::uint64_t j = 0; j < std::uint64_t{forwards} * shape_.blocks; ++j) {
      const auto label = labels(j, -1);
      op(OpKind::kWait, StreamKind::kCompute, label(Site::kReadyWait));
      auto compute = label(Site::kCompute);
      compute.slot = -1;
      op(OpKind::kLaunch, StreamKind::kCompute, compute);
      op(OpKind::kRecord, StreamKind::kCompute, label(Site::kFreeRecord));
      load(j + slots_);
    }
    return std::move(ops_);
  }

 private:
  void op(OpKind kind, StreamKind stream, const OpLabel& label, std::uint64_t bytes = 0) {
    ops_.push_back(OpRecord{kind, stream, label, bytes});
  }
  std::function<OpLabel(Site)> labels(std::uint64_t k, std::int32_t chunk,
                                      std::int32_t slot = -1) const {
    const auto block = static_cast<std::int32_t>(k % shape_.blocks);
    const auto used = slot >= 0 ? slot : static_cast<std::int32_t>(k % slots_);
    return [=](Site site) { return OpLabel{site, 0, block, used, chunk}; };
  }
  void load(std::uint64_t k) {
    const auto whole = labels(k, -1);
    const auto bytes = block_bytes(k % shape_.blocks);
    if (shape_.group_size == 1) {
      op(OpKind::kWait, StreamKind::kCopy, whole(Site::kFreeWait));
      op(OpKind::kCopy, StreamKind::kCopy, whole(Site::kH2d), bytes);
      op(OpKind::kRecord, StreamKind::kCopy, whole(Site::kReadyRecord));
      return;
    }
    op(OpKind::kWait, StreamKind::kComm, whole(Site::kFreeWait));
    const auto shard = round_up(bytes, shape_.group_size * 256) / shape_.group_size;
    // Even pieces: one more of them until they fit.
    auto step = shard;
    for (std::uint64_t count = 2; shape_.chunk_bytes != 0 && step > shape_.chunk_bytes; ++count) {
      step = round_up((shard + count - 1) / count, 256);
    }
    std::int32_t chunk = 0;
    for (std::uint64_t done = 0; done < shard; done += step, ++chunk, ++pieces_) {
      const auto piece = std::min(step, shard - done);
      const auto out = labels(k, chunk);
      const auto in = labels(k, chunk, static_cast<std::int32_t>(pieces_ % shape_.input_slots));
      op(OpKind::kWait, StreamKind::kCopy, in(Site::kInputFreeWait));
      op(OpKind::kCopy, StreamKind::kCopy, out(Site::kH2d), piece);
      op(OpKind::kRecord, StreamKind::kCopy, in(Site::kLandedRecord));
      op(OpKind::kWait, StreamKind::kComm, in(Site::kLandedWait));
      op(OpKind::kGather, StreamKind::kComm, out(Site::kGather), piece * shape_.group_size);
      op(OpKind::kRecord, StreamKind::kComm, in(Site::kInputFreeRecord));
    }
    op(OpKind::kRecord, StreamKind::kComm, whole(Site::kReadyRecord));
  }

  Shape shape_;
  std::uint64_t slots_;
  std::uint64_t pieces_ = 0;
  std::vector<OpRecord> ops_;
};

void expect_sequence(const Shape& shape) {
  SCOPED_TRACE(testing::Message() << shape.blocks << " blocks, depth " << shape.depth << ", W "
                                  << shape.group_size << ", chunk " << shape.chunk_bytes << ", K "
                                  << shape.input_slots);
  FixtureOptions options{.rings = {{}},
                         .depth = shape.depth,
                         .group_size = shape.group_size,
                         .chunk_bytes = shape.chunk_bytes,
                         .input_slots = shape.input_slots};
  for (std::uint64_t b = 0; b < shape.blocks; ++b) {
    options.rings[0].push_back(block_bytes(b));
  }
  RingFixture fixture(options);
  fixture.chain().prime();
  for (int forward = 0; forward < 3; ++forward) {
    fixture.walk(in_order(shape.blocks));
  }
  const auto expected = Expectation(shape).run(3);
  ASSERT_EQ(fixture.device.log().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(fixture.device.log()[i] == expected[i])
        << "operation " << i << " is '" << op_text(fixture.device.log()[i]) << "', not '"
        << op_text(expected[i]) << "'";
  }
  EXPECT_EQ(fixture.chain().counts().repairs, 0U);
  EXPECT_EQ(fixture.chain().counts().refill_loads, 3U * shape.blocks);
}

TEST(BlockRing, EveryRingSizeAndDepth_RankLocal_FollowsTheClosedForm) {
  for (const auto blocks : {1U, 2U, 3U, 5U, 7U, 72U}) {
    for (std::uint32_t depth = 1; depth <= 4; ++depth) {
      expect_sequence(Shape{blocks, depth, 1, 0, 1});
    }
  }
}

TEST(BlockRing, EveryRingSizeAndDepth_AllGather_FollowsTheClosedForm) {
  for (const auto blocks : {1U, 2U, 3U, 5U, 7U, 72U}) {
    for (std::uint32_t depth = 1; depth <= 4; ++depth) {
      for (const auto group_size : {2U, 3U, 4U}) {
        for (const std::uint64_t chunk_bytes : {0U, 256U, 1024U}) {
          for (const auto input_slots : {1U, 2U, 3U}) {
            expect_sequence(Shape{blocks, depth, group_size, chunk_bytes, input_slots});
          }
        }
      }
    }
  }
}

TEST(BlockRing, BlockWithoutBytes_IsLoadedWithoutCopyOrGather) {
  for (const auto group_size : {1U, 2U}) {
    RingFixture fixture(FixtureOptions{.rings = {{512, 0, 512}}, .group_size = group_size});
    fixture.chain().prime();
    fixture.walk(in_order(3));
    for (const auto& op : fixture.device.log()) {
      EXPECT_FALSE((op.kind == OpKind::kCopy || op.kind == OpKind::kGather) && op.label.block == 1);
    }
  }
}

TEST(BlockRing, DeviceFailure_IsThrownWithItsCode) {
  RingFixture fixture(FixtureOptions{.rings = {{512, 512, 512}}});
  fixture.chain().prime();
  fixture.ring().before_block(0);
  fixture.device.fail(refuse(codes::kCopyFailed, "broken link", "copy", "none"));
  try {
    fixture.ring().after_block(0);
    FAIL() << "after_block went on over a failed device";
  } catch (const RunError& error) {
    EXPECT_EQ(error.code(), codes::kCopyFailed);
  }
  EXPECT_THROW(fixture.ring().before_block(1), RunError);
}

TEST(BlockRing, PeerFailure_IsThrownWithItsCode) {
  RingFixture fixture(FixtureOptions{.rings = {{512, 512, 512}}});
  fixture.chain().prime();
  fixture.signal->raise(Failure{std::string(codes::kPinFailed), 1, -1, "pin", "no memory"});
  try {
    fixture.ring().before_block(0);
    FAIL() << "before_block went on over a peer's failure";
  } catch (const RunError& error) {
    EXPECT_EQ(error.code(), codes::kPinFailed);
  }
}

TEST(BlockRing, CallsOutOfPairs_AreLogicErrors) {
  RingFixture fixture(FixtureOptions{.rings = {{512, 512, 512}}});
  fixture.chain().prime();
  EXPECT_THROW(fixture.ring().after_block(0), LogicError);
  fixture.ring().before_block(0);
  EXPECT_THROW(fixture.ring().before_block(1), LogicError);
  EXPECT_THROW(fixture.ring().after_block(1), LogicError);
}

TEST(BlockRing, Retire_WaitsOnTheHostAloneAndKeepsTheSlots) {
  RingFixture fixture(FixtureOptions{.rings = {{512, 512, 512}}});
  fixture.chain().prime();
  fixture.walk(in_order(3));
  fixture.device.clear();
  ASSERT_TRUE(fixture.chain().retire(fixture.device, {}).ok());
  for (const auto& op : fixture.device.log()) {
    EXPECT_EQ(op.label.site, Site::kDrain);
    EXPECT_NE(op.stream, StreamKind::kCompute);
  }
  EXPECT_EQ(fixture.device.log().size(), 2U) << "both slots hold the tail prefetch";
  fixture.walk({0});
  EXPECT_EQ(fixture.chain().counts().repairs, 0U) << "the next request starts warm";
}

}  // namespace
}  // namespace dlo::hot_path
