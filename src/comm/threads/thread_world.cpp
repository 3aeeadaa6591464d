#include "comm/threads/thread_world.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>

#include "base/codes.h"
#include "comm/communicator_wait.h"
#include "comm/threads/thread_fabric.h"

namespace dlo::comm {

namespace {

std::size_t position_of(const std::vector<int>& ranks, int rank) {
  const auto found = std::find(ranks.begin(), ranks.end(), rank);
  require(found != ranks.end(), "a rank makes a group that it is not part of");
  return static_cast<std::size_t>(found - ranks.begin());
}

class RulesLeave : public Leave {
 public:
  explicit RulesLeave(const WaitRules& rules) : rules_(rules) {}
  std::optional<Refusal> failure() override { return rules_.failure(); }
  bool expired() override { return rules_.expired(); }
  Refusal timed_out(const std::string& missing) override { return rules_.timed_out(missing); }

 private:
  const WaitRules& rules_;
};

// What a rank's groups share with its world.
struct RankState {
  RankState(std::shared_ptr<ThreadFabric> shared, int world_rank)
      : fabric(std::move(shared)), rank(world_rank), signal(fabric->board(), world_rank) {}

  std::shared_ptr<ThreadFabric> fabric;
  int rank;
  BoardSignal signal;
  std::map<std::string, int> groups_made;  // by name, so that a second one is another group
};

class ThreadControlGroup : public ControlGroup {
 public:
  ThreadControlGroup(std::shared_ptr<RankState> state, const std::string& key,
                     std::vector<int> ranks, bool through_failures)
      : state_(std::move(state)),
        ranks_(std::move(ranks)),
        position_(position_of(ranks_, state_->rank)),
        through_failures_(through_failures),
        point_(state_->fabric->exchange_point(key, ranks_)) {}

  int rank() const override { return static_cast<int>(position_); }
  int size() const override { return static_cast<int>(ranks_.size()); }

  Result<std::vector<std::string>> exchange(std::string_view operation, std::string_view mine,
                                            Deadline deadline) override {
    require(mine.size() <= kControlBytesMax, "a control text is too long");
    const WaitRules rules{&state_->signal, &state_->fabric->clock(), state_->rank, operation, -1,
                          deadline,        through_failures_,        &ranks_};
    RulesLeave leave(rules);
    return point_->exchange(position_, rounds_++, operation, mine, leave);
  }

 private:
  std::shared_ptr<RankState> state_;
  const std::vector<int> ranks_;
  const std::size_t position_;
  const bool through_failures_;
  std::shared_ptr<ExchangePoint> point_;
  std::uint64_t rounds_ = 0;
};

class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<RankState> state, const std::string& key,
                     std::vector<int> ranks, Nanoseconds timeout)
      : shared_(std::make_shared<Shared>()) {
    shared_->position = position_of(ranks, state->rank);
    shared_->point = state->fabric->gather_point(key, ranks);
    shared_->state = std::move(state);
    shared_->ranks = std::move(ranks);
    shared_->timeout = timeout;
  }
  ~ThreadCommunicator() override = default;
  ThreadCommunicator(const ThreadCommunicator&) = delete;
  ThreadCommunicator& operator=(const ThreadCommunicator&) = delete;

  int rank() const override { return static_cast<int>(shared_->position); }
  int size() const override { return static_cast<int>(shared_->ranks.size()); }

  void all_gather(platform::Device& device, platform::StreamKind stream, DeviceSpan input,
                  DeviceSpan output, const platform::OpLabel& label) override {
    require(output.bytes == shared_->ranks.size() * input.bytes,
            "all_gather: the output must hold exactly one input a rank");
    const GatherPoint::Post post{sequence_++, label, input};
    device.launch(
        stream, [shared = shared_, post, output] { shared->run(post, output); }, label);
  }

  void abort() noexcept override {
    shared_->aborted.store(true);
    shared_->point->abort();
  }

 private:
  // Kept by queued operations too: they may outlive the communicator.
  struct Shared {
    std::shared_ptr<RankState> state;
    std::vector<int> ranks;
    std::size_t position = 0;
    std::shared_ptr<GatherPoint> point;
    Nanoseconds timeout = 0;
    std::atomic<bool> aborted{false};

    void run(const GatherPoint::Post& post, DeviceSpan output);
    [[nodiscard]] Refusal explain(const WaitRules& rules, const Refusal& refusal) const;
  };

  std::shared_ptr<Shared> shared_;
  std::uint64_t sequence_ = 0;
};

void ThreadCommunicator::Shared::run(const GatherPoint::Post& post, DeviceSpan output) {
  platform::Clock& clock = state->fabric->clock();
  const WaitRules rules{&state->signal,
                        &clock,
                        state->rank,
                        "gather",
                        post.label.block,
                        Deadline::after(clock.now(), timeout),
                        false,
                        &ranks};
  RulesLeave leave(rules);
  const Status status = point->gather(position, post, output, leave);
  if (!status.ok()) {
    throw RunError(explain(rules, status.refusal()));
  }
}

// An aborted communicator and a mismatch speak for themselves; that others left has a cause.
Refusal ThreadCommunicator::Shared::explain(const WaitRules& rules, const Refusal& refusal) const {
  if (aborted.load()) {
    return refuse(codes::kCollectiveFailed, "the communicator was aborted",
                  fmt::format("gather on rank {}", state->rank), "see the log of this rank");
  }
  if (const auto standing = state->signal.poll()) {
    return standing->refusal();
  }
  return rules.raised(refusal);
}

class ThreadWorld : public World {
 public:
  ThreadWorld(const std::shared_ptr<ThreadFabric>& fabric, int rank)
      : state_(std::make_shared<RankState>(fabric, rank)),
        control_(state_, "world", all_ranks(fabric->ranks()), true) {}

  std::string_view kind() const override { return "threads"; }
  int rank() const override { return state_->rank; }
  int size() const override { return state_->fabric->ranks(); }
  ControlGroup& control() override { return control_; }
  FailureSignal& failure_signal() override { return state_->signal; }
  void reset_failures() override { state_->signal.next_epoch(); }
  void watch_failures_of(const std::vector<int>& world_ranks) override {
    state_->signal.watch(world_ranks);
  }

  Result<std::unique_ptr<ControlGroup>> make_control_group(const std::vector<int>& world_ranks,
                                                           std::string_view purpose,
                                                           Deadline deadline) override {
    auto group = std::make_unique<ThreadControlGroup>(state_, next_key(world_ranks, purpose),
                                                      world_ranks, false);
    auto met = group->exchange("create group", purpose, deadline);
    if (!met.ok()) {
      return met.refusal();
    }
    return std::unique_ptr<ControlGroup>(std::move(group));
  }

  Result<std::unique_ptr<Communicator>> make_communicator(const std::vector<int>& world_ranks,
                                                          std::string_view purpose,
                                                          Deadline deadline,
                                                          Nanoseconds collective_timeout) override {
    const auto key = next_key(world_ranks, purpose);
    auto communicator =
        std::make_unique<ThreadCommunicator>(state_, key, world_ranks, collective_timeout);
    // Nobody returns before all hold the meeting point, so that it is one and the same.
    ThreadControlGroup meeting(state_, key, world_ranks, false);
    auto met = meeting.exchange("create communicator", purpose, deadline);
    if (!met.ok()) {
      return met.refusal();
    }
    return std::unique_ptr<Communicator>(std::move(communicator));
  }

 private:
  static std::vector<int> all_ranks(int count) {
    std::vector<int> ranks(static_cast<std::size_t>(count));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
  }

  std::string next_key(const std::vector<int>& ranks, std::string_view purpose) {
    const auto name = fmt::format("{} over {}", purpose, fmt::join(ranks, ","));
    return fmt::format("{} #{}", name, state_->groups_made[name]++);
  }

  std::shared_ptr<RankState> state_;
  ThreadControlGroup control_;
};

}  // namespace

std::vector<std::unique_ptr<World>> make_thread_world(int ranks, platform::Clock& clock) {
  require(ranks > 0, "a world needs a rank");
  const auto fabric = std::make_shared<ThreadFabric>(ranks, clock);
  std::vector<std::unique_ptr<World>> worlds;
  for (int rank = 0; rank < ranks; ++rank) {
    worlds.push_back(std::make_unique<ThreadWorld>(fabric, rank));
  }
  return worlds;
}

}  // namespace dlo::comm
