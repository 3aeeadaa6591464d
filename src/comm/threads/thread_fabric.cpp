#include "comm/threads/thread_fabric.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/codes.h"

namespace dlo::comm {

namespace {

constexpr std::chrono::milliseconds kSlice{2};

template <typename Slots>
std::string missing_ranks(const std::vector<int>& world_ranks, const Slots& slots) {
  std::vector<int> missing;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i]) {
      missing.push_back(world_ranks[i]);
    }
  }
  return fmt::format("{}", fmt::join(missing, ", "));
}

// Asked without the lock: it may look at the board and the clock. Builds text only at the end.
template <typename Lock, typename Slots>
std::optional<Refusal> ask_unlocked(Lock& lock, Leave& leave, const std::vector<int>& world_ranks,
                                    const Slots& slots) {
  lock.unlock();
  auto failure = leave.failure();
  const bool expired = !failure && leave.expired();
  lock.lock();
  if (expired) {
    const std::string missing = missing_ranks(world_ranks, slots);
    lock.unlock();
    failure = leave.timed_out(missing);
    lock.lock();
  }
  return failure;
}

}  // namespace

Result<std::vector<std::string>> ExchangePoint::exchange(std::size_t rank, std::uint64_t number,
                                                         std::string_view operation,
                                                         std::string_view mine, Leave& leave) {
  std::unique_lock lock(mutex_);
  Round& round = rounds_[number];
  round.texts.resize(world_ranks_.size());
  round.operations.resize(world_ranks_.size());
  round.texts[rank] = std::string(mine);
  round.operations[rank] = std::string(operation);
  ++round.arrived;
  changed_.notify_all();
  while (round.arrived < world_ranks_.size()) {
    const auto left = ask_unlocked(lock, leave, world_ranks_, round.texts);
    if (left && round.arrived < world_ranks_.size()) {
      return *left;
    }
    changed_.wait_for(lock, kSlice, [&] { return round.arrived == world_ranks_.size(); });
  }
  auto result = outcome(round);
  if (++round.read == world_ranks_.size()) {
    rounds_.erase(number);
  }
  return result;
}

Result<std::vector<std::string>> ExchangePoint::outcome(const Round& round) const {
  for (std::size_t i = 1; i < round.operations.size(); ++i) {
    if (round.operations[i] != round.operations[0]) {
      return refuse(
          codes::kScheduleMismatch,
          fmt::format("rank {} exchanges '{}' while rank {} exchanges '{}'", world_ranks_[0],
                      round.operations[0], world_ranks_[i], round.operations[i]),
          "control exchange", "start every rank with the same binary and arguments");
    }
  }
  std::vector<std::string> texts;
  texts.reserve(round.texts.size());
  for (const auto& text : round.texts) {
    texts.push_back(*text);
  }
  return texts;
}

GatherPoint::GatherPoint(std::vector<int> world_ranks)
    : world_ranks_(std::move(world_ranks)), posts_(world_ranks_.size()) {}

Status GatherPoint::break_off(Lock& lock, const Refusal& refusal) {
  broken_ = true;
  changed_.notify_all();
  // Others may be reading this rank's input; that is a memcpy, it ends.
  changed_.wait(lock, [this] { return copying_ == 0; });
  return refusal;
}

template <typename Done>
Status GatherPoint::await(Lock& lock, Leave& leave, Done done) {
  while (!done()) {
    if (broken_) {
      return break_off(lock,
                       refuse(codes::kCollectiveFailed, "a rank of the group left the collective",
                              fmt::format("group of ranks {}", fmt::join(world_ranks_, ",")),
                              "see the first failing rank's log"));
    }
    const auto left = ask_unlocked(lock, leave, world_ranks_, posts_);
    if (left && !done()) {
      return break_off(lock, *left);
    }
    changed_.wait_for(lock, kSlice, [&] { return broken_ || done(); });
  }
  return {};
}

std::optional<Refusal> GatherPoint::mismatch() const {
  const Post& first = *posts_.front();
  for (std::size_t i = 1; i < posts_.size(); ++i) {
    const Post& other = *posts_[i];
    const auto what = fmt::format(
        "rank {} gathers {} bytes as '{}' (collective {}), rank {} gathers {} bytes as '{}' "
        "(collective {})",
        world_ranks_.front(), first.input.bytes, label_text(first.label), first.sequence,
        world_ranks_[i], other.input.bytes, label_text(other.label), other.sequence);
    if (first.sequence != other.sequence || first.label != other.label) {
      return refuse(codes::kScheduleMismatch, what, "all_gather", "report this as a bug");
    }
    if (first.input.bytes != other.input.bytes) {
      return refuse(codes::kCollectiveFailed, what, "all_gather", "report this as a bug");
    }
  }
  return std::nullopt;
}

void GatherPoint::copy(Lock& lock, DeviceSpan output) {
  ++copying_;
  lock.unlock();
  for (std::size_t i = 0; i < posts_.size(); ++i) {
    const DeviceSpan input = posts_[i]->input;
    if (input.bytes > 0) {
      std::memcpy(output.data + i * input.bytes, input.data, input.bytes);
    }
  }
  lock.lock();
  --copying_;
  changed_.notify_all();
}

Status GatherPoint::gather(std::size_t rank, const Post& post, DeviceSpan output, Leave& leave) {
  Lock lock(mutex_);
  Status status = await(lock, leave, [&] { return !posts_[rank].has_value() && !broken_; });
  if (!status.ok()) {
    return status;
  }
  posts_[rank] = post;
  ++arrived_;
  changed_.notify_all();
  status = await(lock, leave, [&] { return arrived_ == posts_.size(); });
  if (!status.ok()) {
    return status;
  }
  if (const auto wrong = mismatch()) {
    return break_off(lock, *wrong);
  }
  if (broken_) {
    return await(lock, leave, [] { return false; });
  }
  copy(lock, output);
  const std::uint64_t round = round_;
  if (++finished_ == posts_.size()) {
    std::fill(posts_.begin(), posts_.end(), std::nullopt);
    arrived_ = 0;
    finished_ = 0;
    ++round_;
    changed_.notify_all();
    return {};
  }
  return await(lock, leave, [&] { return round_ != round; });
}

void GatherPoint::abort() {
  const std::lock_guard lock(mutex_);
  broken_ = true;
  changed_.notify_all();
}

ThreadFabric::ThreadFabric(int ranks, platform::Clock& clock)
    : ranks_(ranks),
      clock_(clock),
      board_memory_(ceil_divide(FailureBoard::bytes_for(ranks), sizeof(BoardLine))),
      board_(std::as_writable_bytes(std::span(board_memory_)), ranks) {}

std::shared_ptr<ExchangePoint> ThreadFabric::exchange_point(const std::string& key,
                                                            const std::vector<int>& ranks) {
  const std::lock_guard lock(mutex_);
  auto point = exchanges_[key].lock();
  if (!point) {
    point = std::make_shared<ExchangePoint>(ranks);
    exchanges_[key] = point;
  }
  return point;
}

std::shared_ptr<GatherPoint> ThreadFabric::gather_point(const std::string& key,
                                                        const std::vector<int>& ranks) {
  const std::lock_guard lock(mutex_);
  auto point = gathers_[key].lock();
  if (!point) {
    point = std::make_shared<GatherPoint>(ranks);
    gathers_[key] = point;
  }
  return point;
}

}  // namespace dlo::comm
