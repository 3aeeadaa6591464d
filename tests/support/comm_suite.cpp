#include "tests/support/comm_suite.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "base/codes.h"
#include "comm/process_groups.h"
#include "platform/cpu/cpu_device.h"

namespace dlo::test_support {

namespace {

using platform::MemoryPurpose;
using platform::OpLabel;
using platform::Site;
using platform::StreamKind;

constexpr Nanoseconds kLong = 30 * kSecond;
constexpr Nanoseconds kShort = 300 * kMillisecond;

// One rank's device and the means to gather on it.
class Rank {
 public:
  Rank(comm::World& world, platform::Clock& clock)
      : world_(world),
        clock_(clock),
        device_(platform::make_cpu_device({.rank = world.rank()}, clock, world.failure_signal())) {}

  [[nodiscard]] Deadline in(Nanoseconds timeout) const {
    return Deadline::after(clock_.now(), timeout);
  }
  [[nodiscard]] std::vector<int> everyone() const {
    std::vector<int> ranks(static_cast<std::size_t>(world_.size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
  }
  [[nodiscard]] bool last() const { return world_.rank() == world_.size() - 1; }

  [[nodiscard]] std::unique_ptr<comm::Communicator> communicator(const std::vector<int>& ranks,
                                                                 std::string_view purpose,
                                                                 Nanoseconds timeout) {
    auto made = world_.make_communicator(ranks, purpose, in(kLong), timeout);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.refusal().message());
    return made.ok() ? std::move(*made) : nullptr;
  }

  // Gathers `bytes` of `fill` and returns what was received.
  Result<std::string> gather(comm::Communicator& communicator, std::uint64_t bytes, int fill,
                             const OpLabel& label) {
    const auto size = static_cast<std::uint64_t>(communicator.size());
    auto input = device_->allocate_device(bytes, MemoryPurpose::kInputSlot);
    auto output = device_->allocate_device(bytes * size, MemoryPurpose::kSlot);
    const DeviceSpan from = (*input)->span();
    if (bytes > 0) {
      std::memset(from.data, fill, bytes);
    }
    const Status shared = communicator.share_inputs(*device_, {from}, in(kLong));
    EXPECT_TRUE(shared.ok()) << (shared.ok() ? "" : shared.refusal().message());
    communicator.all_gather(*device_, StreamKind::kComm, from, (*output)->span(), label);
    if (auto done = device_->synchronize(in(kLong)); !done.ok()) {
      return done.refusal();
    }
    const DeviceSpan to = (*output)->span();
    // A string, for its operations on whole ranges stay quick under sanitizers.
    return std::string(reinterpret_cast<const char*>(to.data), to.bytes);
  }

  // All ranks come here after a failure; afterwards nothing stands.
  void meet_and_reset() {
    world_.watch_failures_of({});
    const auto met = world_.control().exchange("end of check", "", in(kLong));
    EXPECT_TRUE(met.ok()) << (met.ok() ? "" : met.refusal().message());
    world_.reset_failures();
    world_.watch_failures_of(everyone());
    const auto again = world_.control().exchange("clean again", "", in(kLong));
    EXPECT_TRUE(again.ok()) << (again.ok() ? "" : again.refusal().message());
    EXPECT_FALSE(world_.failure_signal().poll().has_value());
  }

 private:
  comm::World& world_;
  platform::Clock& clock_;
  std::unique_ptr<platform::Device> device_;
};

OpLabel gather_label(int chunk) {
  return OpLabel{Site::kGather, 0, 3, 1, chunk};
}

void expect_pieces(const Result<std::string>& received, const std::vector<int>& fills,
                   std::uint64_t bytes) {
  ASSERT_TRUE(received.ok()) << received.refusal().message();
  ASSERT_EQ(received->size(), fills.size() * bytes);
  for (std::size_t piece = 0; piece < fills.size(); ++piece) {
    const std::string expected(bytes, static_cast<char>(fills[piece]));
    EXPECT_TRUE(received->compare(piece * bytes, bytes, expected) == 0) << "piece " << piece;
  }
}

void expect_refused(const Result<std::string>& received, std::string_view code,
                    std::string_view part) {
  ASSERT_FALSE(received.ok());
  EXPECT_EQ(received.refusal().code, code) << received.refusal().message();
  EXPECT_NE(received.refusal().message().find(part), std::string::npos)
      << received.refusal().message();
}

// One gather in which the last rank does otherwise; then all meet.
template <typename Differ>
void gather_with_odd_one(comm::World& world, platform::Clock& clock, std::string_view code,
                         std::string_view part, Differ differ) {
  Rank rank(world, clock);
  if (world.size() > 1) {
    const auto group = rank.communicator(rank.everyone(), "weights", kLong);
    ASSERT_NE(group, nullptr);
    std::uint64_t bytes = 512;
    OpLabel label = gather_label(0);
    if (rank.last()) {
      differ(bytes, label);
    }
    expect_refused(rank.gather(*group, bytes, 1, label), code, part);
  }
  rank.meet_and_reset();
}

}  // namespace

void check_gather_places_every_rank(comm::World& world, platform::Clock& clock) {
  Rank rank(world, clock);
  const auto group = rank.communicator(rank.everyone(), "weights", kLong);
  ASSERT_NE(group, nullptr);
  std::vector<int> fills;
  for (int i = 0; i < world.size(); ++i) {
    fills.push_back(i + 1);
  }
  int chunk = 0;
  for (const std::uint64_t bytes :
       {std::uint64_t{256}, std::uint64_t{0}, std::uint64_t{1}, kMiB + 77, std::uint64_t{4096}}) {
    expect_pieces(rank.gather(*group, bytes, world.rank() + 1, gather_label(chunk++)), fills,
                  bytes);
  }
}

void check_grid_groups_stay_apart(comm::World& world, platform::Clock& clock) {
  Rank rank(world, clock);
  const int sp = world.size() % 2 == 0 ? 2 : 1;
  const comm::Topology topology{world.size() / sp, sp, 1};
  for (const auto& ranks : {comm::dp_group(topology, world.rank()),
                            comm::sp_group(topology, world.rank()), std::vector{world.rank()}}) {
    const auto group = rank.communicator(ranks, "grid", kLong);
    ASSERT_NE(group, nullptr);
    std::vector<int> fills;
    for (const int member : ranks) {
      fills.push_back(member + 10);
    }
    expect_pieces(rank.gather(*group, 300, world.rank() + 10, gather_label(0)), fills, 300);
  }
}

void check_exchange_keeps_rank_order(comm::World& world, platform::Clock& clock) {
  Rank rank(world, clock);
  auto group = world.make_control_group(rank.everyone(), "texts", rank.in(kLong));
  ASSERT_TRUE(group.ok()) << group.refusal().message();
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{5}, std::size_t{160}, std::size_t{161}, std::size_t{300'000}}) {
    const auto text_of = [length](int who) {
      return std::string(length * static_cast<std::size_t>(who + 1) / 2,
                         static_cast<char>('a' + who));
    };
    const auto texts = (*group)->exchange("digest", text_of(world.rank()), rank.in(kLong));
    ASSERT_TRUE(texts.ok()) << texts.refusal().message();
    ASSERT_EQ(texts->size(), static_cast<std::size_t>(world.size()));
    for (int who = 0; who < world.size(); ++who) {
      EXPECT_EQ((*texts)[static_cast<std::size_t>(who)], text_of(who));
    }
  }
}

void check_exchange_mismatch_is_named(comm::World& world, platform::Clock& clock) {
  Rank rank(world, clock);
  if (world.size() > 1) {
    const auto texts =
        world.control().exchange(rank.last() ? "vote" : "digest", "x", rank.in(kLong));
    ASSERT_FALSE(texts.ok());
    EXPECT_EQ(texts.refusal().code, codes::kScheduleMismatch);
    EXPECT_NE(texts.refusal().message().find("digest"), std::string::npos);
    EXPECT_NE(texts.refusal().message().find("vote"), std::string::npos);
  }
  rank.meet_and_reset();
}

void check_gather_size_mismatch_is_named(comm::World& world, platform::Clock& clock) {
  gather_with_odd_one(world, clock, codes::kCollectiveFailed, "768 bytes",
                      [](std::uint64_t& bytes, OpLabel&) { bytes = 768; });
}

void check_gather_label_mismatch_is_named(comm::World& world, platform::Clock& clock) {
  gather_with_odd_one(world, clock, codes::kScheduleMismatch, "chunk 7",
                      [](std::uint64_t&, OpLabel& label) { label.chunk = 7; });
}

void check_absent_rank_ends_gather(comm::World& world, platform::Clock& clock) {
  Rank rank(world, clock);
  if (world.size() > 1) {
    const auto group = rank.communicator(rank.everyone(), "weights", kShort);
    ASSERT_NE(group, nullptr);
    if (!rank.last()) {
      expect_refused(rank.gather(*group, 512, 1, gather_label(0)), codes::kDeadlineExceeded,
                     fmt::format("{} did not come in time", world.size() - 1));
    }
    rank.meet_and_reset();
  }
}

void check_absent_rank_ends_exchange(comm::World& world, platform::Clock& clock) {
  Rank rank(world, clock);
  if (world.size() > 1) {
    auto group = world.make_control_group(rank.everyone(), "votes", rank.in(kLong));
    ASSERT_TRUE(group.ok()) << group.refusal().message();
    if (!rank.last()) {
      const auto texts = (*group)->exchange("vote", "yes", rank.in(kShort));
      ASSERT_FALSE(texts.ok());
      EXPECT_EQ(texts.refusal().code, codes::kDeadlineExceeded) << texts.refusal().message();
    }
    rank.meet_and_reset();
  }
}

void check_failure_ends_peers_gather(comm::World& world, platform::Clock& clock) {
  Rank rank(world, clock);
  if (world.size() > 1) {
    const auto group = rank.communicator(rank.everyone(), "weights", kLong);
    ASSERT_NE(group, nullptr);
    if (rank.last()) {
      world.failure_signal().raise({std::string(codes::kPinFailed), world.rank(), 4, "pin", "no"});
    } else {
      expect_refused(rank.gather(*group, 512, 1, gather_label(0)), codes::kPinFailed,
                     fmt::format("rank {}", world.size() - 1));
    }
    const auto standing = world.failure_signal().poll();
    ASSERT_TRUE(standing.has_value());
    EXPECT_EQ(standing->rank, world.size() - 1);
    EXPECT_EQ(standing->block, 4);
    rank.meet_and_reset();
  }
}

void check_unwatched_failure_is_ignored(comm::World& world, platform::Clock& clock) {
  Rank rank(world, clock);
  world.watch_failures_of({world.rank()});
  ASSERT_TRUE(world.control().exchange("watching", "", rank.in(kLong)).ok());
  if (rank.last()) {
    world.failure_signal().raise({std::string(codes::kCopyFailed), world.rank(), -1, "copy", "no"});
  }
  ASSERT_TRUE(world.control().exchange("raised", "", rank.in(kLong)).ok());
  EXPECT_EQ(world.failure_signal().poll().has_value(), rank.last());
  rank.meet_and_reset();
}

void check_abort_ends_gather(comm::World& world, platform::Clock& clock) {
  Rank rank(world, clock);
  if (world.size() > 1) {
    const auto group = rank.communicator(rank.everyone(), "weights", kLong);
    ASSERT_NE(group, nullptr);
    if (!rank.last()) {
      group->abort();
      const auto received = rank.gather(*group, 512, 1, gather_label(0));
      ASSERT_FALSE(received.ok());
      EXPECT_EQ(received.refusal().code, codes::kCollectiveFailed);
    }
    rank.meet_and_reset();
  }
}

}  // namespace dlo::test_support
