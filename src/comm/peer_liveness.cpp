#include "comm/peer_liveness.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace dlo::comm {

PeerLiveness::PeerLiveness(FailureBoard board, int rank, const std::vector<Peer>& peers,
                           Nanoseconds heartbeat_timeout, platform::Clock& clock)
    : board_(board),
      rank_(rank),
      heartbeat_timeout_(heartbeat_timeout),
      clock_(clock),
      last_look_(clock.now()),
      fates_(static_cast<std::size_t>(board.ranks())) {
  for (const Peer& peer : peers) {
    const long pidfd = ::syscall(SYS_pidfd_open, peer.pid, 0);
    watches_.push_back(Watch{peer, static_cast<int>(pidfd), 0, 0});
  }
}

PeerLiveness::~PeerLiveness() {
  for (const Watch& watch : watches_) {
    if (watch.pidfd >= 0) {
      ::close(watch.pidfd);
    }
  }
}

bool PeerLiveness::look() {
  const Nanoseconds now = clock_.now();
  Nanoseconds last = last_look_.load();
  if (now - last < kLookInterval || !last_look_.compare_exchange_strong(last, now)) {
    return false;
  }
  board_.slot(rank_).heartbeat.fetch_add(1);
  const std::lock_guard lock(mutex_);
  for (Watch& watch : watches_) {
    look_at(watch, now - last);
  }
  return true;
}

bool PeerLiveness::ended(const Watch& watch) {
  if (watch.pidfd < 0) {
    return ::kill(watch.peer.pid, 0) != 0 && errno == ESRCH;
  }
  pollfd entry{watch.pidfd, POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1 && (entry.revents & POLLIN) != 0;
}

void PeerLiveness::look_at(Watch& watch, Nanoseconds since_last_look) {
  const BoardSlot& slot = board_.slot(watch.peer.rank);
  auto& fate = fates_[static_cast<std::size_t>(watch.peer.rank)];
  // Asked before `departed`: who leaves says so first and ends then.
  const bool has_ended = ended(watch);
  if (slot.departed.load() != 0 || fate.load() == Fate::kEnded) {
    return;
  }
  if (has_ended) {
    fate.store(Fate::kEnded);
    return;
  }
  const std::uint64_t beat = slot.heartbeat.load();
  if (beat != watch.last_beat) {
    watch.last_beat = beat;
    watch.silence = 0;
    fate.store(Fate::kAlive);
    return;
  }
  // A long gap between looks is our own absence; it tells little about the peer.
  watch.silence += std::min(since_last_look, 5 * kLookInterval);
  if (watch.silence >= heartbeat_timeout_) {
    fate.store(Fate::kSilent);
  }
}

bool PeerLiveness::vanished(int rank) const {
  return fates_.at(static_cast<std::size_t>(rank)).load() != Fate::kAlive;
}

std::string PeerLiveness::reason(int rank) const {
  switch (fates_.at(static_cast<std::size_t>(rank)).load()) {
    case Fate::kEnded:
      return fmt::format("the process of rank {} ended without leaving the job", rank);
    case Fate::kSilent:
      return fmt::format("the process of rank {} gave no sign of life for {} s", rank,
                         heartbeat_timeout_ / kSecond);
    case Fate::kAlive:
      break;
  }
  return "";
}

void PeerLiveness::depart() {
  board_.slot(rank_).departed.store(1);
}

bool PeerLiveness::alone() const {
  const std::lock_guard lock(mutex_);
  return std::all_of(watches_.begin(), watches_.end(), [this](const Watch& watch) {
    return board_.slot(watch.peer.rank).departed.load() != 0 || vanished(watch.peer.rank);
  });
}

}  // namespace dlo::comm
