#include "backend/offload_backend.h"

#include <exception>
#include <utility>

#include "backend/session.h"
#include "base/thrown_refusal.h"

namespace dlo::backend {

namespace {

// Turns whatever `step` throws into a refusal, so that this rank can still vote or go on freeing.
template <typename Step>
Status guarded(const char* name, const Step& step) noexcept {
  try {
    return step();
  } catch (...) {
    return thrown_refusal(std::current_exception(), name);
  }
}

}  // namespace

struct OffloadBackend::State {
  Session session;
  bool enable_called = false;
  bool disabled = false;
  bool abandoned_buffers = false;
};

OffloadBackend::OffloadBackend(const BackendRequest& request)
    : state_(std::make_unique<State>(State{Session(request)})) {}

OffloadBackend::~OffloadBackend() {
  for (const auto& problem : disable()) {
    const auto& log = state_->session.request().context.log;
    if (log != nullptr) {
      log->warn("disable: {}", problem);
    }
  }
}

Status OffloadBackend::enable() {
  require(!state_->enable_called && !state_->disabled, "enable() is called once, before disable()");
  state_->enable_called = true;
  auto& session = state_->session;
  session.step("prepare");
  const auto mine = guarded("prepare", [&] { return session.prepare(); });
  // Deviates from vLLM-Omni: the weight group votes and agrees on a schedule digest before the
  // first gather, so that one rank's failure ends enable() on all of them.
  auto status = guarded("vote", [&] { return session.vote(mine); });
  if (status.ok()) {
    session.step("commit");
    status = guarded("commit", [&]() -> Status {
      session.commit();
      session.prime();
      return {};
    });
    if (!status.ok()) {
      session.raise(status.refusal());
    }
  }
  if (!status.ok()) {
    auto refusal = status.refusal();
    for (const auto& problem : disable()) {
      refusal.what += "; then: " + problem;
    }
    return refusal;
  }
  return status;
}

contracts::BlockObserver* OffloadBackend::observer(std::size_t dit) {
  return state_->session.observer(dit);
}

Status OffloadBackend::begin_request() {
  return state_->session.load_residents();
}

Status OffloadBackend::end_request() {
  auto status = state_->session.retire();
  return status.ok() ? state_->session.drop_residents() : status;
}

std::vector<std::string> OffloadBackend::disable() noexcept {
  std::vector<std::string> problems;
  if (state_->disabled) {
    return problems;
  }
  state_->disabled = true;
  auto& session = state_->session;
  session.step("disable: drain streams");
  bool drained = false;
  const auto status = guarded("drain", [&]() -> Status {
    drained = session.drain();
    return {};
  });
  if (!status.ok()) {
    problems.push_back(status.refusal().message());
  }
  if (!drained) {
    problems.emplace_back(
        "a stream or a packing thread is still busy: buffers that it may touch are left alone");
    session.abandon_buffers();
    state_->abandoned_buffers = true;
  }
  if (session.committed()) {
    session.step("disable: placeholders");
    session.forget_places();
  }
  session.step("disable: end hot path");
  session.end_hot_path();
  session.step("disable: free buffers");
  session.free_buffers();
  return problems;
}

bool OffloadBackend::abandoned_buffers() const {
  return state_->abandoned_buffers;
}

const contracts::EffectiveTransfer& OffloadBackend::effective() const {
  return state_->session.plan().effective;
}

const MemoryPlan& OffloadBackend::memory_plan() const {
  return state_->session.plan().memory;
}

const TrafficPlan& OffloadBackend::traffic_plan() const {
  return state_->session.plan().traffic;
}

const std::vector<std::string>& OffloadBackend::steps() const {
  return state_->session.steps();
}

Traffic OffloadBackend::planned_traffic(const std::vector<std::uint64_t>& forwards) const {
  const auto& plan = state_->session.plan().traffic;
  require(forwards.size() == plan.per_forward.size(), "one forward count a DiT");
  Traffic total = plan.prime;
  for (std::size_t dit = 0; dit < forwards.size(); ++dit) {
    total += plan.per_forward[dit].times(forwards[dit]);
  }
  total += state_->session.repair_traffic();
  total += plan.stage_entry.times(state_->session.stage_count());
  return total;
}

std::uint64_t OffloadBackend::repair_count() const {
  return state_->session.repair_count();
}

}  // namespace dlo::backend
