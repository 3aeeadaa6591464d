// Owns: what the ranks of a thread world share: the failure board, and per group the rounds of
// control exchanges and the meeting point of AllGathers.
// Must not own: rank-local state (thread_world.cpp). Threading: any rank's threads.
// Failure: waits are cut into slices; between slices a callback may end them.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor_view.h"
#include "comm/failure_board.h"
#include "platform/op_label.h"

namespace dlo::comm {

// What a waiting rank asks between slices.
class Leave {
 public:
  virtual ~Leave() = default;
  // A failure that ends the wait.
  [[nodiscard]] virtual std::optional<Refusal> failure() = 0;
  [[nodiscard]] virtual bool expired() = 0;
  // What to leave with when expired; `missing` names the ranks that have not come.
  [[nodiscard]] virtual Refusal timed_out(const std::string& missing) = 0;
};

// The control exchanges of one group. A rank's n-th call joins round n.
class ExchangePoint {
 public:
  explicit ExchangePoint(std::vector<int> world_ranks) : world_ranks_(std::move(world_ranks)) {}

  // All contributions in rank order; schedule_mismatch on every rank when operations differ.
  [[nodiscard]] Result<std::vector<std::string>> exchange(std::size_t rank, std::uint64_t round,
                                                          std::string_view operation,
                                                          std::string_view mine, Leave& leave);

 private:
  struct Round {
    std::vector<std::optional<std::string>> texts;
    std::vector<std::string> operations;
    std::size_t arrived = 0;
    std::size_t read = 0;
  };

  [[nodiscard]] Result<std::vector<std::string>> outcome(const Round& round) const;

  const std::vector<int> world_ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Round> rounds_;
};

// The AllGathers of one communicator. A round begins when all have posted and ends when all have
// copied: inputs are then free again. Allocates nothing after construction.
class GatherPoint {
 public:
  struct Post {
    std::uint64_t sequence = 0;
    platform::OpLabel label;
    DeviceSpan input;
  };

  explicit GatherPoint(std::vector<int> world_ranks);

  // Fills `output`. Before it leaves with a refusal no rank reads its input any more.
  [[nodiscard]] Status gather(std::size_t rank, const Post& post, DeviceSpan output, Leave& leave);
  // Ends every present and future gather with collective_failed.
  void abort();

 private:
  using Lock = std::unique_lock<std::mutex>;

  [[nodiscard]] std::optional<Refusal> mismatch() const;
  // Waits for `done`; ends with a refusal when the point is broken or `leave` says so.
  template <typename Done>
  [[nodiscard]] Status await(Lock& lock, Leave& leave, Done done);
  [[nodiscard]] Status break_off(Lock& lock, const Refusal& refusal);
  void copy(Lock& lock, DeviceSpan output);

  const std::vector<int> world_ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<Post>> posts_;
  std::size_t arrived_ = 0;
  std::size_t finished_ = 0;
  std::size_t copying_ = 0;
  std::uint64_t round_ = 0;
  bool broken_ = false;
};

class ThreadFabric {
 public:
  ThreadFabric(int ranks, platform::Clock& clock);

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] platform::Clock& clock() { return clock_; }
  [[nodiscard]] FailureBoard board() { return board_; }
  // The points of the group named `key`, made by the first rank that asks.
  [[nodiscard]] std::shared_ptr<ExchangePoint> exchange_point(const std::string& key,
                                                              const std::vector<int>& ranks);
  [[nodiscard]] std::shared_ptr<GatherPoint> gather_point(const std::string& key,
                                                          const std::vector<int>& ranks);

 private:
  struct alignas(64) BoardLine {
    std::array<std::byte, 64> bytes{};
  };

  const int ranks_;
  platform::Clock& clock_;
  std::vector<BoardLine> board_memory_;
  FailureBoard board_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<ExchangePoint>> exchanges_;
  std::map<std::string, std::weak_ptr<GatherPoint>> gathers_;
};

}  // namespace dlo::comm
