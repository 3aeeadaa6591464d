// Goal: the first failure of the watched ranks wins and every watcher names the same one; a peer
// process that ends or falls silent is named. Method: boards in plain memory and in a shared page,
// racing threads, and child processes that are killed or stopped.
#include "comm/failure_board.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "base/codes.h"
#include "comm/peer_liveness.h"
#include "comm/shared_page.h"
#include "platform/posix/steady_clock.h"

namespace dlo::comm {
namespace {

constexpr int kRanks = 4;
constexpr int kBeatMs = 5;

Failure failure_of(int rank) {
  return {std::string(codes::kPinFailed), rank, 7, "pin", "detail of rank " + std::to_string(rank)};
}

class FailureBoardTest : public testing::Test {
 protected:
  FailureBoardTest() : page_(SharedPage::create("failure board", FailureBoard::bytes_for(kRanks))) {
    for (int rank = 0; rank < kRanks; ++rank) {
      signals_.push_back(std::make_unique<BoardSignal>(board(), rank));
    }
  }
  FailureBoard board() { return FailureBoard(page_->bytes(), kRanks); }
  BoardSignal& signal(int rank) { return *signals_[static_cast<std::size_t>(rank)]; }

  Result<SharedPage> page_;
  std::vector<std::unique_ptr<BoardSignal>> signals_;
};

TEST_F(FailureBoardTest, Raised_IsSeenWholeByAll) {
  signal(2).raise(failure_of(2));
  for (int rank = 0; rank < kRanks; ++rank) {
    const auto seen = signal(rank).poll();
    ASSERT_TRUE(seen.has_value());
    EXPECT_EQ(seen->message(), failure_of(2).message());
  }
}

TEST_F(FailureBoardTest, SecondFailure_DoesNotReplaceTheFirst) {
  signal(1).raise(failure_of(1));
  signal(0).raise(failure_of(0));
  EXPECT_EQ(signal(0).poll()->rank, 1);
  EXPECT_EQ(signal(3).poll()->rank, 1);
}

TEST_F(FailureBoardTest, LongTexts_AreCutNotOverrun) {
  Failure failure = failure_of(0);
  failure.detail = std::string(10'000, 'x');
  failure.operation = std::string(1'000, 'o');
  signal(0).raise(failure);
  const auto seen = signal(1).poll();
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->code, codes::kPinFailed);
  EXPECT_EQ(seen->detail, failure.detail.substr(0, seen->detail.size()));
  EXPECT_EQ(seen->operation, failure.operation.substr(0, seen->operation.size()));
}

TEST_F(FailureBoardTest, Unwatched_DoesNotReach) {
  signal(0).watch({0, 1});
  signal(2).raise(failure_of(2));
  EXPECT_FALSE(signal(0).poll().has_value());
  EXPECT_TRUE(signal(1).poll().has_value());
  // Nor does it stand in the way of the rank's own group.
  signal(0).raise(failure_of(0));
  EXPECT_EQ(signal(0).poll()->rank, 0);
}

TEST_F(FailureBoardTest, NextEpoch_ForgetsAndIgnoresLaggards) {
  signal(1).raise(failure_of(1));
  signal(0).next_epoch();
  EXPECT_FALSE(signal(0).poll().has_value());
  signal(1).next_epoch();
  signal(1).raise(failure_of(1));
  EXPECT_TRUE(signal(0).poll().has_value());
  EXPECT_EQ(signal(2).poll(), std::nullopt);  // still in the old epoch
}

TEST_F(FailureBoardTest, RacingRanks_EveryoneNamesTheSame) {
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    std::array<int, kRanks> named{};
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank) {
      threads.emplace_back([&, rank] {
        if (rank < 3) {
          signal(rank).raise(failure_of(rank));
        }
        std::optional<Failure> seen;
        while (!seen) {
          seen = signal(rank).poll();
        }
        named[static_cast<std::size_t>(rank)] = seen->rank;
      });
    }
    for (auto& thread : threads) {
      thread.join();
    }
    for (const int name : named) {
      ASSERT_EQ(name, named[0]) << "round " << round;
    }
    for (auto& rank_signal : signals_) {
      rank_signal->next_epoch();
    }
  }
}

// A peer process that beats until it is killed or stopped.
class PeerProcess {
 public:
  explicit PeerProcess(FailureBoard board) : pid_(::fork()) {
    if (pid_ == 0) {
      platform::SteadyClock clock;
      PeerLiveness beats(board, 1, {}, kSecond, clock);
      while (true) {
        static_cast<void>(beats.look());
        ::poll(nullptr, 0, kBeatMs);
      }
    }
  }
  ~PeerProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;
  [[nodiscard]] int pid() const { return pid_; }

 private:
  int pid_;
};

std::optional<Failure> poll_until_failure(BoardSignal& signal, platform::Clock& clock) {
  const Deadline deadline = Deadline::after(clock.now(), 20 * kSecond);
  while (!deadline.expired(clock.now())) {
    if (auto failure = signal.poll()) {
      return failure;
    }
    std::this_thread::yield();
  }
  return std::nullopt;
}

TEST_F(FailureBoardTest, KilledPeer_IsNamed) {
  platform::SteadyClock clock;
  const PeerProcess peer(board());
  PeerLiveness liveness(board(), 0, {{1, peer.pid()}}, 60 * kSecond, clock);
  signal(0).look_after(&liveness);
  ::kill(peer.pid(), SIGKILL);
  const auto failure = poll_until_failure(signal(0), clock);
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code, codes::kPeerFailed);
  EXPECT_EQ(failure->rank, 1);
  EXPECT_EQ(signal(2).poll()->rank, 1) << "others hear it from the board";
}

TEST_F(FailureBoardTest, StoppedPeer_IsNamedBySilence) {
  platform::SteadyClock clock;
  const PeerProcess peer(board());
  PeerLiveness liveness(board(), 0, {{1, peer.pid()}}, kSecond, clock);
  signal(0).look_after(&liveness);
  ::kill(peer.pid(), SIGSTOP);
  const auto failure = poll_until_failure(signal(0), clock);
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->rank, 1);
  EXPECT_NE(failure->detail.find("no sign of life"), std::string::npos) << failure->detail;
}

TEST_F(FailureBoardTest, DepartedPeer_IsNoFailure) {
  platform::SteadyClock clock;
  PeerLiveness liveness(board(), 0, {{1, ::getpid()}}, 200 * kMillisecond, clock);
  board().slot(1).departed.store(1);
  const Deadline deadline = Deadline::after(clock.now(), kSecond);
  while (!deadline.expired(clock.now())) {
    static_cast<void>(liveness.look());
    ASSERT_FALSE(liveness.vanished(1));
  }
}

TEST_F(FailureBoardTest, Alone_OnceEveryPeerHasLeftOrVanished) {
  platform::SteadyClock clock;
  const PeerProcess peer(board());
  PeerLiveness liveness(board(), 0, {{1, peer.pid()}, {2, ::getpid()}}, 60 * kSecond, clock);
  EXPECT_FALSE(liveness.alone());
  board().slot(2).departed.store(1);
  EXPECT_FALSE(liveness.alone());
  ::kill(peer.pid(), SIGKILL);
  const Deadline deadline = Deadline::after(clock.now(), 30 * kSecond);
  while (!liveness.alone() && !deadline.expired(clock.now())) {
    static_cast<void>(liveness.look());
  }
  EXPECT_TRUE(liveness.alone());
}

}  // namespace
}  // namespace dlo::comm
