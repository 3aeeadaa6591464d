// Owns: the failure board: one slot a rank in memory that the ranks of a node share, and
// BoardSignal, one rank's FailureSignal over it. The first failure of the watched ranks wins, and
// every watcher names the same one.
// Must not own: the memory (shared_page.h, or a vector for ranks that are threads), data exchange,
// or the end of the process.
// Threading: all functions from any thread of any process; lock-free between processes.
// Failure: a rank that dies while it writes never publishes; peer_liveness names it instead.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/bytes.h"
#include "base/failure_signal.h"
#include "platform/clock.h"

namespace dlo::comm {

class PeerLiveness;

// One rank's part of the board. All zero at first. Words are atomics, so that readers of other
// processes may look at any time; `version` is odd while the owner writes.
struct BoardSlot {
  static constexpr std::size_t kTextWords = 96;

  std::atomic<std::uint64_t> version;
  std::atomic<std::uint64_t> epoch;     // of the owner when it failed
  std::atomic<std::uint64_t> sequence;  // order of failures on the board, from 1
  std::atomic<std::int64_t> rank;
  std::atomic<std::int64_t> block;
  std::array<std::atomic<std::uint64_t>, kTextWords> text;  // code, operation, detail

  std::atomic<std::uint64_t> heartbeat;  // counts up while the owner's process runs
  std::atomic<std::uint64_t> departed;   // 1 once the owner has left in good order
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// A view of the shared memory; all copies of one node see the same bytes.
class FailureBoard {
 public:
  // Precondition: `memory` has bytes_for(ranks) bytes, 64-byte aligned, zeroed by its creator.
  FailureBoard(ByteSpan memory, int ranks);

  [[nodiscard]] static std::uint64_t bytes_for(int ranks);
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] BoardSlot& slot(int rank) const;
  [[nodiscard]] std::atomic<std::uint64_t>& last_sequence() const;

 private:
  std::byte* memory_;
  int ranks_;
};

// What one rank raises and sees. Its own failures always count; others' while they are watched.
class BoardSignal : public FailureSignal {
 public:
  // Watches every rank at first.
  BoardSignal(FailureBoard board, int rank);

  void raise(const Failure& failure) override;
  [[nodiscard]] std::optional<Failure> poll() const override;

  void watch(const std::vector<int>& world_ranks);
  // Failures of the past no longer stand for this rank, nor those that lagging ranks still raise.
  void next_epoch();
  // Polled together with the board; outlives the signal. Null: processes are not looked after.
  void look_after(PeerLiveness* liveness) { liveness_ = liveness; }
  [[nodiscard]] PeerLiveness* liveness() const { return liveness_; }

 private:
  struct Standing {
    std::uint64_t sequence = 0;
    int slot = -1;
    bool writing = false;  // a watched rank is about to publish
  };

  [[nodiscard]] Standing scan() const;
  [[nodiscard]] std::optional<Failure> read(int slot, std::uint64_t sequence) const;
  [[nodiscard]] std::optional<Failure> poll_board() const;
  void publish(const Failure& failure);
  void raise_vanished() const;

  FailureBoard board_;
  const int rank_;
  std::vector<std::atomic<bool>> watched_;
  std::atomic<std::uint64_t> epoch_{0};
  std::mutex raise_mutex_;
  PeerLiveness* liveness_ = nullptr;
};

}  // namespace dlo::comm
