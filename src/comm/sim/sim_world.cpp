#include "comm/sim/sim_world.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/codes.h"

namespace dlo::comm {

namespace {

using platform::sim::OpEffect;
using platform::sim::OpFacts;
using platform::sim::OpIndex;
using platform::sim::OpKind;

constexpr int kPoison = 0xFB;

std::string group_name(const std::vector<int>& ranks, std::string_view purpose) {
  return fmt::format("{} over {}", purpose, fmt::join(ranks, ","));
}

int position_of(const std::vector<int>& ranks, int rank) {
  const auto found = std::find(ranks.begin(), ranks.end(), rank);
  require(found != ranks.end(), "a rank makes a group that it is not in");
  return static_cast<int>(found - ranks.begin());
}

class SimSignal : public FailureSignal {
 public:
  SimSignal(SimFabric& fabric, int rank) : fabric_(&fabric), rank_(rank) {}
  void raise(const Failure& failure) override { fabric_->raise(failure); }
  [[nodiscard]] std::optional<Failure> poll() const override { return fabric_->poll(rank_); }

 private:
  SimFabric* fabric_;
  int rank_;
};

class SimControlGroup : public ControlGroup {
 public:
  SimControlGroup(SimFabric& fabric, std::vector<int> ranks, int world_rank, std::string name)
      : fabric_(&fabric),
        ranks_(std::move(ranks)),
        world_rank_(world_rank),
        group_rank_(position_of(ranks_, world_rank)),
        name_(std::move(name)) {}

  [[nodiscard]] int rank() const override { return group_rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(ranks_.size()); }

  [[nodiscard]] Result<std::vector<std::string>> exchange(std::string_view operation,
                                                          std::string_view mine,
                                                          Deadline deadline) override {
    const auto call = call_count_++;
    const auto state = fabric_->exchange(name_, call, ranks_.size());
    if (state->operation.empty()) {
      state->operation = operation;
    }
    if (state->operation != operation) {
      fabric_->kernel().violate(fmt::format("rank {} is in exchange '{}' while a peer is in '{}'",
                                            world_rank_, operation, state->operation));
    }
    state->texts[static_cast<std::size_t>(group_rank_)] = std::string(mine);
    const auto complete = [state] {
      return std::all_of(state->texts.begin(), state->texts.end(),
                         [](const auto& text) { return text.has_value(); });
    };
    const auto ready = [this, complete] {
      return complete() || fabric_->poll(world_rank_).has_value();
    };
    static_cast<void>(fabric_->kernel().block(world_rank_, ready, deadline,
                                              fmt::format("exchange '{}' ({})", operation, name_)));
    return outcome(*state, operation, complete());
  }

 private:
  [[nodiscard]] Result<std::vector<std::string>> outcome(const SimExchange& state,
                                                         std::string_view operation,
                                                         bool complete) const {
    if (!complete) {
      if (const auto failure = fabric_->poll(world_rank_)) {
        return failure->refusal();
      }
      return refuse(codes::kDeadlineExceeded,
                    fmt::format("exchange '{}' did not complete in time", operation),
                    fmt::format("rank {}, {}", world_rank_, name_), "look for a stuck peer");
    }
    std::vector<std::string> texts;
    texts.reserve(state.texts.size());
    for (const auto& text : state.texts) {
      texts.push_back(*text);
    }
    return texts;
  }

  SimFabric* fabric_;
  std::vector<int> ranks_;
  int world_rank_;
  int group_rank_;
  std::string name_;
  std::uint64_t call_count_ = 0;
};

class SimCommunicator : public Communicator {
 public:
  SimCommunicator(SimFabric& fabric, std::vector<int> ranks, int world_rank, std::string name,
                  Nanoseconds timeout)
      : fabric_(&fabric),
        ranks_(std::move(ranks)),
        world_rank_(world_rank),
        group_rank_(position_of(ranks_, world_rank)),
        name_(std::move(name)),
        timeout_(timeout) {}

  [[nodiscard]] int rank() const override { return group_rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(ranks_.size()); }

  void all_gather(platform::Device& /*device*/, platform::StreamKind stream, DeviceSpan input,
                  DeviceSpan output, const platform::OpLabel& label) override {
    require(output.bytes == ranks_.size() * input.bytes,
            fmt::format("all_gather: output holds {} bytes, {} x {} are wanted", output.bytes,
                        ranks_.size(), input.bytes));
    const auto meeting = fabric_->meeting(name_, call_count_, ranks_.size());
    const auto call = call_count_++;
    OpEffect effect;
    effect.accesses = {{input.data, input.bytes, false}, {output.data, output.bytes, true}};
    effect.at_start = [output] { std::memset(output.data, kPoison, output.bytes); };
    effect.at_end = [meeting] { meeting->deliver(); };
    const auto arrived = [this, meeting, call, input, output, label](OpIndex op) {
      arrive(meeting, call, {&fabric_->device(world_rank_), op, label, input, output, 0});
    };
    fabric_->device(world_rank_)
        .issue_collective(stream, output.bytes, std::move(effect), arrived, label);
  }

  void abort() noexcept override { aborted_ = true; }

 private:
  void arrive(const std::shared_ptr<SimMeeting>& meeting, std::uint64_t call, SimArrival arrival) {
    auto& device = *arrival.device;
    if (aborted_) {
      device.fail(refuse(codes::kCollectiveFailed, "the communicator was aborted", name_, ""),
                  arrival.label);
      return;
    }
    if (const auto failure = fabric_->poll(world_rank_)) {
      device.leave_collectives(failure->refusal());
      return;
    }
    arrival.timer = fabric_->kernel().schedule_timer(
        Deadline::after(fabric_->kernel().now(), timeout_).at,
        [&device, label = arrival.label, name = name_] {
          device.fail(refuse(codes::kDeadlineExceeded, "a peer did not join the gather in time",
                             name, "look for a stuck peer"),
                      label);
        });
    meeting->arrivals[static_cast<std::size_t>(group_rank_)] = arrival;
    if (++meeting->arrived_count == ranks_.size()) {
      fabric_->forget_meeting(name_, call);
      begin(*meeting);
    }
  }

  void begin(SimMeeting& meeting) {
    Nanoseconds duration = 0;
    for (const auto& arrival : meeting.arrivals) {
      fabric_->kernel().cancel_timer(arrival->timer);
      const OpFacts facts{arrival->device->rank(), platform::StreamKind::kComm, OpKind::kCollective,
                          arrival->label, arrival->output.bytes};
      duration =
          std::max(duration, arrival->device->costs().duration(facts, fabric_->kernel().random()));
    }
    const auto& first = *meeting.arrivals.front();
    for (const auto& arrival : meeting.arrivals) {
      if (arrival->label != first.label || arrival->input.bytes != first.input.bytes) {
        mismatch(meeting, first, *arrival);
        return;
      }
    }
    meeting.begun = true;
    for (const auto& arrival : meeting.arrivals) {
      arrival->device->begin_collective(arrival->op, duration);
    }
  }

  void mismatch(const SimMeeting& meeting, const SimArrival& a, const SimArrival& b) {
    const auto what = fmt::format("rank {} gathers {} bytes in '{}', rank {} {} bytes in '{}'",
                                  a.device->rank(), a.input.bytes, label_text(a.label),
                                  b.device->rank(), b.input.bytes, label_text(b.label));
    fabric_->kernel().violate(what);
    for (const auto& arrival : meeting.arrivals) {
      arrival->device->fail(refuse(codes::kScheduleMismatch, what, name_, "this is a bug"),
                            arrival->label);
    }
  }

  SimFabric* fabric_;
  std::vector<int> ranks_;
  int world_rank_;
  int group_rank_;
  std::string name_;
  Nanoseconds timeout_;
  std::uint64_t call_count_ = 0;
  bool aborted_ = false;
};

class SimWorld : public World {
 public:
  SimWorld(SimFabric& fabric, int rank)
      : fabric_(&fabric),
        rank_(rank),
        signal_(fabric, rank),
        control_(make_control(fabric, rank)) {}

  [[nodiscard]] std::string_view kind() const override { return "sim"; }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return fabric_->rank_count(); }
  [[nodiscard]] ControlGroup& control() override { return control_; }
  [[nodiscard]] FailureSignal& failure_signal() override { return signal_; }
  void reset_failures() override { fabric_->reset_failures(); }
  void watch_failures_of(const std::vector<int>& ranks) override { fabric_->watch(rank_, ranks); }

  [[nodiscard]] Result<std::unique_ptr<ControlGroup>> make_control_group(
      const std::vector<int>& ranks, std::string_view purpose, Deadline /*deadline*/) override {
    return std::unique_ptr<ControlGroup>(
        std::make_unique<SimControlGroup>(*fabric_, ranks, rank_, group_name(ranks, purpose)));
  }

  [[nodiscard]] Result<std::unique_ptr<Communicator>> make_communicator(
      const std::vector<int>& ranks, std::string_view purpose, Deadline /*deadline*/,
      Nanoseconds collective_timeout) override {
    return std::unique_ptr<Communicator>(std::make_unique<SimCommunicator>(
        *fabric_, ranks, rank_, group_name(ranks, purpose), collective_timeout));
  }

 private:
  static SimControlGroup make_control(SimFabric& fabric, int rank) {
    std::vector<int> all(static_cast<std::size_t>(fabric.rank_count()));
    std::iota(all.begin(), all.end(), 0);
    return SimControlGroup(fabric, all, rank, group_name(all, "world"));
  }

  SimFabric* fabric_;
  int rank_;
  SimSignal signal_;
  SimControlGroup control_;
};

}  // namespace

std::unique_ptr<World> make_sim_world(SimFabric& fabric, int rank) {
  return std::make_unique<SimWorld>(fabric, rank);
}

}  // namespace dlo::comm
