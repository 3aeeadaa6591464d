// Goal: whatever is recorded, waited for and launched, an operation never runs before another that
// the documented order puts ahead of it. Method: random programs; a reference model computes for
// each launch the set of launches that must be over, and real streams with random delays run it.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <bitset>
#include <map>
#include <ostream>
#include <thread>
#include <vector>

#include "platform/cpu/cpu_device.h"
#include "platform/posix/steady_clock.h"

namespace dlo::platform {
namespace {

constexpr std::size_t kLaunchesMax = 256;
constexpr std::size_t kEvents = 3;

enum class Action : std::uint8_t { kLaunch, kRecord, kWait };

struct Step {
  Action action = Action::kLaunch;
  std::size_t stream = 0;
  std::size_t event = 0;
  int yields = 0;
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  const char* names[] = {"launch", "record", "wait"};
  return out << names[static_cast<int>(step.action)] << " s" << step.stream << " e" << step.event;
}

rc::Gen<Step> any_step() {
  return rc::gen::build<Step>(
      rc::gen::set(&Step::action,
                   rc::gen::element(Action::kLaunch, Action::kRecord, Action::kWait)),
      rc::gen::set(&Step::stream, rc::gen::inRange<std::size_t>(0, kStreamCount)),
      rc::gen::set(&Step::event, rc::gen::inRange<std::size_t>(0, kEvents)),
      rc::gen::set(&Step::yields, rc::gen::element(0, 0, 1, 20)));
}

using LaunchSet = std::bitset<kLaunchesMax>;

// For each launch the launches that must be over before it begins.
std::vector<LaunchSet> reference_order(const std::vector<Step>& program) {
  std::vector<LaunchSet> before;
  LaunchSet stream_past[kStreamCount];
  LaunchSet event_past[kEvents];
  for (const Step& step : program) {
    LaunchSet& past = stream_past[step.stream];
    switch (step.action) {
      case Action::kLaunch:
        before.push_back(past);
        past.set(before.size() - 1);
        break;
      case Action::kRecord:
        event_past[step.event] = past;
        break;
      case Action::kWait:
        past |= event_past[step.event];
        break;
    }
  }
  return before;
}

struct Span {
  std::atomic<int> begin{0};
  std::atomic<int> end{0};
};

// Runs the program; each launch notes the ticks at its begin and its end.
void run(const std::vector<Step>& program, std::vector<Span>& spans) {
  SteadyClock clock;
  const auto signal = make_local_failure_signal();
  const auto device = make_cpu_device({.queue_capacity = 16}, clock, *signal);
  std::vector<EventId> events;
  for (std::size_t i = 0; i < kEvents; ++i) {
    events.push_back(device->create_event());
  }
  std::atomic<int> tick{0};
  std::size_t launched = 0;
  for (const Step& step : program) {
    const auto stream = static_cast<StreamKind>(step.stream);
    if (step.action == Action::kLaunch) {
      Span& span = spans[launched++];
      const auto task = [&span, &tick, yields = step.yields] {
        span.begin.store(tick.fetch_add(1));
        for (int i = 0; i < yields; ++i) {
          std::this_thread::yield();
        }
        span.end.store(tick.fetch_add(1));
      };
      device->launch(stream, task, {});
    } else if (step.action == Action::kRecord) {
      device->record(events[step.event], stream, {});
    } else {
      device->wait(stream, events[step.event], {});
    }
  }
  RC_ASSERT(device->synchronize(Deadline::after(clock.now(), 30 * kSecond)).ok());
  for (const EventId event : events) {
    RC_ASSERT(device->query(event));
  }
}

RC_GTEST_PROP(StreamOrder, RandomPrograms_NeverRunAheadOfTheModel, ()) {
  const auto program = *rc::gen::resize(
      200, rc::gen::suchThat(rc::gen::container<std::vector<Step>>(any_step()),
                             [](const auto& steps) { return steps.size() <= kLaunchesMax; }));
  const auto before = reference_order(program);
  std::vector<Span> spans(before.size());
  run(program, spans);
  for (std::size_t later = 0; later < before.size(); ++later) {
    for (std::size_t earlier = 0; earlier < before.size(); ++earlier) {
      if (before[later].test(earlier)) {
        RC_ASSERT(spans[earlier].end.load() < spans[later].begin.load());
      }
    }
  }
}

}  // namespace
}  // namespace dlo::platform
