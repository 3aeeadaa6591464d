#include "comm/failure_board.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "base/codes.h"
#include "base/error.h"
#include "comm/peer_liveness.h"

namespace dlo::comm {

namespace {

constexpr std::uint64_t kHeaderBytes = 64;
constexpr std::uint64_t kSlotBytes = round_up(sizeof(BoardSlot), 64);
constexpr std::size_t kTextBytes = BoardSlot::kTextWords * sizeof(std::uint64_t);
constexpr std::size_t kCodeBytes = 64;
constexpr std::size_t kOperationBytes = 128;

using TextBytes = std::array<char, kTextBytes>;

// Fields of fixed width, cut if they must be, each ended by a zero.
void put(TextBytes& bytes, std::size_t offset, std::size_t width, std::string_view text) {
  std::memcpy(bytes.data() + offset, text.data(), std::min(text.size(), width - 1));
}

std::string take(const TextBytes& bytes, std::size_t offset) {
  return std::string(bytes.data() + offset);
}

void store_text(BoardSlot& slot, const Failure& failure) {
  TextBytes bytes{};
  put(bytes, 0, kCodeBytes, failure.code);
  put(bytes, kCodeBytes, kOperationBytes, failure.operation);
  put(bytes, kCodeBytes + kOperationBytes, kTextBytes - kCodeBytes - kOperationBytes,
      failure.detail);
  for (std::size_t i = 0; i < BoardSlot::kTextWords; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i * sizeof(word), sizeof(word));
    slot.text[i].store(word);
  }
}

TextBytes load_text(const BoardSlot& slot) {
  TextBytes bytes{};
  for (std::size_t i = 0; i < BoardSlot::kTextWords; ++i) {
    const std::uint64_t word = slot.text[i].load();
    std::memcpy(bytes.data() + i * sizeof(word), &word, sizeof(word));
  }
  bytes.back() = '\0';
  return bytes;
}

}  // namespace

FailureBoard::FailureBoard(ByteSpan memory, int ranks) : memory_(memory.data()), ranks_(ranks) {
  require(memory.size() >= bytes_for(ranks), "the failure board's memory is too small");
}

std::uint64_t FailureBoard::bytes_for(int ranks) {
  return kHeaderBytes + kSlotBytes * static_cast<std::uint64_t>(ranks);
}

BoardSlot& FailureBoard::slot(int rank) const {
  require(rank >= 0 && rank < ranks_, "no such rank on the failure board");
  return *reinterpret_cast<BoardSlot*>(memory_ + kHeaderBytes +
                                       kSlotBytes * static_cast<std::uint64_t>(rank));
}

std::atomic<std::uint64_t>& FailureBoard::last_sequence() const {
  return *reinterpret_cast<std::atomic<std::uint64_t>*>(memory_);
}

BoardSignal::BoardSignal(FailureBoard board, int rank)
    : board_(board), rank_(rank), watched_(static_cast<std::size_t>(board.ranks())) {
  for (auto& watched : watched_) {
    watched.store(true);
  }
}

void BoardSignal::watch(const std::vector<int>& world_ranks) {
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    const int rank = static_cast<int>(i);
    watched_[i].store(rank == rank_ ||
                      std::find(world_ranks.begin(), world_ranks.end(), rank) != world_ranks.end());
  }
}

void BoardSignal::next_epoch() {
  epoch_.fetch_add(1);
}

void BoardSignal::raise(const Failure& failure) {
  if (!poll_board()) {
    publish(failure);
  }
}

void BoardSignal::publish(const Failure& failure) {
  const std::lock_guard lock(raise_mutex_);
  BoardSlot& slot = board_.slot(rank_);
  const bool stands = slot.version.load() != 0 && slot.epoch.load() == epoch_.load();
  if (stands) {
    return;
  }
  // Odd before the sequence is drawn: whoever sees a later sequence published also sees this.
  slot.version.fetch_add(1);
  slot.sequence.store(board_.last_sequence().fetch_add(1) + 1);
  slot.epoch.store(epoch_.load());
  slot.rank.store(failure.rank);
  slot.block.store(failure.block);
  store_text(slot, failure);
  slot.version.fetch_add(1);
}

BoardSignal::Standing BoardSignal::scan() const {
  Standing first;
  for (int i = 0; i < board_.ranks(); ++i) {
    const BoardSlot& slot = board_.slot(i);
    const std::uint64_t version = slot.version.load();
    if (version == 0 || !watched_[static_cast<std::size_t>(i)].load()) {
      continue;
    }
    if (version % 2 != 0) {
      // Its owner may have died in the middle; then there is nothing to wait for.
      first.writing = first.writing || liveness_ == nullptr || !liveness_->vanished(i);
      continue;
    }
    const std::uint64_t sequence = slot.sequence.load();
    if (slot.epoch.load() == epoch_.load() && (first.slot < 0 || sequence < first.sequence)) {
      first.slot = i;
      first.sequence = sequence;
    }
  }
  return first;
}

std::optional<Failure> BoardSignal::read(int index, std::uint64_t sequence) const {
  const BoardSlot& slot = board_.slot(index);
  const std::uint64_t before = slot.version.load();
  const TextBytes text = load_text(slot);
  Failure failure{take(text, 0), static_cast<int>(slot.rank.load()),
                  static_cast<int>(slot.block.load()), take(text, kCodeBytes),
                  take(text, kCodeBytes + kOperationBytes)};
  const bool whole =
      slot.sequence.load() == sequence && slot.version.load() == before && before % 2 == 0;
  return whole ? std::optional<Failure>(std::move(failure)) : std::nullopt;
}

std::optional<Failure> BoardSignal::poll_board() const {
  if (board_.last_sequence().load() == 0) {
    return std::nullopt;
  }
  if (scan().slot < 0) {
    return std::nullopt;
  }
  // The second look sees every failure with a lower sequence, published or being written. While
  // one is being written the answer is "not yet": the caller polls again.
  const Standing first = scan();
  if (first.writing || first.slot < 0) {
    return std::nullopt;
  }
  return read(first.slot, first.sequence);
}

void BoardSignal::raise_vanished() const {
  for (int i = 0; i < board_.ranks(); ++i) {
    if (watched_[static_cast<std::size_t>(i)].load() && liveness_->vanished(i)) {
      // A signal is shared by all waits of its rank; noting what they all would find is no change
      // that a caller of poll() could observe otherwise.
      const_cast<BoardSignal*>(this)->raise(
          Failure{std::string(codes::kPeerFailed), i, -1, "liveness", liveness_->reason(i)});
    }
  }
}

std::optional<Failure> BoardSignal::poll() const {
  if (liveness_ != nullptr && liveness_->look()) {
    raise_vanished();
  }
  return poll_board();
}

}  // namespace dlo::comm
