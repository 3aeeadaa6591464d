#include "platform/sim/sim_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <thread>

#include "base/error.h"
#include "platform/posix/thread_name.h"

namespace dlo::platform::sim {

bool SimKernel::Later::operator()(const Event& a, const Event& b) const {
  if (a.at != b.at) {
    return a.at > b.at;
  }
  return a.tie != b.tie ? a.tie > b.tie : a.serial > b.serial;
}

SimKernel::SimKernel(const SimSettings& settings) : settings_(settings), random_(settings.seed) {
  require(settings.rank_count >= 1, "a simulation needs at least one rank");
  for (int rank = 0; rank < settings.rank_count; ++rank) {
    ranks_.push_back(std::make_unique<Rank>());
  }
}

SimKernel::~SimKernel() = default;

SimOutcome SimKernel::run(const std::function<void(int)>& body) {
  for (auto& rank : ranks_) {
    rank->waiting = true;
    rank->ready = [] { return true; };
    rank->what = "start";
  }
  std::vector<std::thread> threads;
  for (int rank = 0; rank < settings_.rank_count; ++rank) {
    threads.emplace_back([this, rank, &body] {
      name_this_thread("dlo-sim");
      run_rank(rank, body);
    });
  }
  const int first = pick_runnable();
  ranks_[static_cast<std::size_t>(first)]->baton.release();
  finished_.acquire();
  for (auto& thread : threads) {
    thread.join();
  }
  outcome_.end_time = now_;
  return outcome_;
}

void SimKernel::run_rank(int rank, const std::function<void(int)>& body) {
  auto& self = *ranks_[static_cast<std::size_t>(rank)];
  self.baton.acquire();
  self.waiting = false;
  try {
    body(rank);
  } catch (const std::exception& error) {
    violate(fmt::format("rank {} ended with an exception: {}", rank, error.what()));
  }
  self.ended = true;
  hand_over(-1);
}

void SimKernel::schedule(Nanoseconds at, std::function<void()> action) {
  require(at >= now_, "the simulator cannot schedule into the past");
  events_.push(Event{at, random_.next(), ++serial_,
                     std::make_shared<std::function<void()>>(std::move(action))});
}

std::uint64_t SimKernel::schedule_timer(Nanoseconds at, std::function<void()> action) {
  timers_.push_back(Timer{at, ++serial_, std::move(action)});
  return serial_;
}

void SimKernel::cancel_timer(std::uint64_t timer) {
  std::erase_if(timers_, [timer](const Timer& t) { return t.number == timer; });
}

bool SimKernel::block(int rank, std::function<bool()> ready, Deadline deadline, std::string what) {
  auto& self = *ranks_[static_cast<std::size_t>(rank)];
  self.waiting = true;
  self.ready = std::move(ready);
  self.deadline = deadline;
  self.what = std::move(what);
  hand_over(rank);
  self.waiting = false;
  return self.ready();
}

void SimKernel::yield(int rank) {
  if (random_.chance(settings_.yield_percent)) {
    static_cast<void>(block(
        rank, [] { return true; }, Deadline{}, "yield"));
  }
}

void SimKernel::hand_over(int self) {
  while (true) {
    const bool may_step = !events_.empty();
    const int chosen = pick_runnable();
    if (chosen < 0 && !may_step) {
      if (all_ended()) {
        finished_.release();
        return;
      }
      if (!advance_to_deadline()) {
        violate("a rank waits for ever\n" + wait_graph());
        std::terminate();  // no deadline to leave by: block() was called without one
      }
      continue;
    }
    if (may_step && (chosen < 0 || (!settings_.ranks_first && random_.chance(50)))) {
      run_next_event();
      continue;
    }
    if (chosen == self) {
      return;
    }
    ranks_[static_cast<std::size_t>(chosen)]->baton.release();
    if (self >= 0) {
      ranks_[static_cast<std::size_t>(self)]->baton.acquire();
    }
    return;
  }
}

bool SimKernel::runnable(const Rank& rank) const {
  return rank.waiting && !rank.ended && (rank.deadline.expired(now_) || rank.ready());
}

int SimKernel::pick_runnable() {
  std::uint64_t count = 0;
  int chosen = -1;
  for (int i = 0; i < settings_.rank_count; ++i) {
    if (runnable(*ranks_[static_cast<std::size_t>(i)])) {
      ++count;
      if (count == 1 || random_.below(count) == 0) {
        chosen = i;
      }
    }
  }
  return chosen;
}

void SimKernel::run_next_event() {
  const Event event = events_.top();
  events_.pop();
  now_ = event.at;
  ++outcome_.event_count;
  (*event.action)();
  run_due_timers();
}

void SimKernel::run_due_timers() {
  while (true) {
    const auto due = std::find_if(timers_.begin(), timers_.end(),
                                  [this](const Timer& timer) { return timer.at <= now_; });
    if (due == timers_.end()) {
      return;
    }
    const auto action = std::move(due->action);
    timers_.erase(due);
    action();
  }
}

bool SimKernel::advance_to_deadline() {
  Nanoseconds earliest = std::numeric_limits<Nanoseconds>::max();
  for (const auto& rank : ranks_) {
    if (rank->waiting && !rank->ended) {
      earliest = std::min(earliest, rank->deadline.at);
    }
  }
  for (const auto& timer : timers_) {
    earliest = std::min(earliest, timer.at);
  }
  if (earliest == std::numeric_limits<Nanoseconds>::max()) {
    return false;
  }
  if (!settings_.deadlines_expected) {
    violate("deadlock\n" + wait_graph());
  }
  now_ = std::max(now_, earliest);
  run_due_timers();
  return true;
}

std::string SimKernel::wait_graph() const {
  std::string text;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const auto& rank = *ranks_[i];
    text += rank.ended ? fmt::format("rank {}: ended\n", i)
                       : fmt::format("rank {}: waits in {}\n", i, rank.what);
    text += rank.wait_reporter ? rank.wait_reporter() : "";
  }
  return text;
}

bool SimKernel::all_ended() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const auto& rank) { return rank->ended; });
}

void SimKernel::violate(const std::string& what) {
  if (outcome_.violation.empty()) {
    outcome_.violation = what;
  }
}

void SimKernel::trace(std::uint64_t value) {
  outcome_.trace_digest =
      SeededRandom(outcome_.trace_digest ^ (value * 0x9E3779B97F4A7C15ULL)).next();
}

void SimKernel::set_wait_reporter(int rank, std::function<std::string()> reporter) {
  ranks_[static_cast<std::size_t>(rank)]->wait_reporter = std::move(reporter);
}

}  // namespace dlo::platform::sim
