// Owns: the question whether the processes of the other ranks on this node still run: a process
// that ended without leaving, or whose heartbeat stands still, has vanished.
// Must not own: what follows from it (failure_board raises peer_failed).
// Threading: any thread; looks at most every kLookInterval, other calls return at once.
// Failure: without pidfds (an old kernel) existence is asked by kill(pid, 0).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "comm/failure_board.h"
#include "platform/clock.h"

namespace dlo::comm {

class PeerLiveness {
 public:
  struct Peer {
    int rank = -1;  // world rank
    int pid = 0;
  };

  static constexpr Nanoseconds kLookInterval = 100 * kMillisecond;

  // `peers` are the other ranks of this node. Silence counts in time during which this process
  // looked, so that a suspended machine does not look like dead peers. `clock` outlives this.
  PeerLiveness(FailureBoard board, int rank, const std::vector<Peer>& peers,
               Nanoseconds heartbeat_timeout, platform::Clock& clock);
  ~PeerLiveness();
  PeerLiveness(const PeerLiveness&) = delete;
  PeerLiveness& operator=(const PeerLiveness&) = delete;

  // Beats for this process and, when the interval is over, looks at the peers. True when it looked.
  bool look();
  [[nodiscard]] bool vanished(int rank) const;
  // "process 123 ended", for messages; empty while the rank lives.
  [[nodiscard]] std::string reason(int rank) const;
  // This process leaves in good order: its end is no failure to others.
  void depart();
  // Every peer has left or vanished.
  [[nodiscard]] bool alone() const;

 private:
  struct Watch {
    Peer peer;
    int pidfd = -1;
    std::uint64_t last_beat = 0;
    Nanoseconds silence = 0;
  };

  [[nodiscard]] static bool ended(const Watch& watch);
  void look_at(Watch& watch, Nanoseconds since_last_look);

  enum class Fate : int { kAlive, kEnded, kSilent };

  FailureBoard board_;
  const int rank_;
  const Nanoseconds heartbeat_timeout_;
  platform::Clock& clock_;
  mutable std::mutex mutex_;
  std::vector<Watch> watches_;
  std::atomic<Nanoseconds> last_look_;
  std::vector<std::atomic<Fate>> fates_;  // by world rank
};

}  // namespace dlo::comm
