// Owns: SimKernel, one deterministic run: virtual time, the seeded baton between ranks, the event
// queue, deadlock detection with a wait graph, and the first violation.
// Must not own: device semantics (sim_device.h) or communication (comm/sim).
//
// Ranks are threads, but exactly one of them, or the kernel itself, runs at a time: whoever holds
// the baton. The holder gives it up only inside block(), yield() or by ending. Every choice comes
// from one SeededRandom, so a seed is a schedule. Nothing here needs a lock: the baton's semaphores
// order all accesses.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <semaphore>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/seeded_random.h"

namespace dlo::platform::sim {

struct SimSettings {
  std::uint64_t seed = 1;
  int rank_count = 1;
  std::uint32_t yield_percent = 30;  // chance that an issued operation lets others run first
  // A run without faults may never rely on a deadline: reaching one is a deadlock and a violation.
  // Fault runs set this, and a rank then leaves its wait by its deadline.
  bool deadlines_expected = false;
  // Whoever can go on does so before time moves: the launching threads are only as slow as their
  // host costs. For prediction; exploration lets events overtake them.
  bool ranks_first = false;
};

struct SimOutcome {
  std::string violation;  // first broken oracle, empty when none
  std::uint64_t trace_digest = 0;
  std::uint64_t event_count = 0;
  Nanoseconds end_time = 0;
};

class SimKernel {
 public:
  explicit SimKernel(const SimSettings& settings);
  ~SimKernel();
  SimKernel(const SimKernel&) = delete;
  SimKernel& operator=(const SimKernel&) = delete;

  // Runs body(rank) once for every rank until all have returned and no event is left, and says
  // how it went. An exception that escapes a body is a violation.
  [[nodiscard]] SimOutcome run(const std::function<void(int rank)>& body);

  // --- for devices, clocks and worlds; the caller holds the baton -----------------------------
  [[nodiscard]] Nanoseconds now() const { return now_; }
  [[nodiscard]] SeededRandom& random() { return random_; }
  [[nodiscard]] int rank_count() const { return settings_.rank_count; }
  [[nodiscard]] bool deadlines_expected() const { return settings_.deadlines_expected; }

  // Runs `action` at virtual time `at` (not before now). Actions of one instant run in seeded
  // order.
  void schedule(Nanoseconds at, std::function<void()> action);

  // Runs `action` when virtual time passes `at`, but never as a reason to move time while events
  // are pending: collective time-outs. Reaching one with no event left counts as a deadlock unless
  // deadlines are expected. Returns a number for cancel_timer().
  std::uint64_t schedule_timer(Nanoseconds at, std::function<void()> action);
  void cancel_timer(std::uint64_t timer);

  // Suspends `rank` until ready() holds; false when the deadline passed first. `what` names the
  // wait in the wait graph.
  [[nodiscard]] bool block(int rank, std::function<bool()> ready, Deadline deadline,
                           std::string what);
  // May let other ranks and pending events run before `rank` goes on.
  void yield(int rank);

  // Records the first broken oracle; later ones are dropped.
  void violate(const std::string& what);
  [[nodiscard]] bool violated() const { return !outcome_.violation.empty(); }

  // Folds `value` into the trace digest.
  void trace(std::uint64_t value);

  // Extra lines for the wait graph, e.g. what each stream's head operation waits for.
  // Called only while the kernel runs; the device removes its reporter before it goes.
  void set_wait_reporter(int rank, std::function<std::string()> reporter);

 private:
  struct Event {
    Nanoseconds at;
    std::uint64_t tie;  // seeded, so that simultaneous events run in any order
    std::uint64_t serial;
    std::shared_ptr<std::function<void()>> action;
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const;
  };
  struct Timer {
    Nanoseconds at;
    std::uint64_t number;
    std::function<void()> action;
  };
  struct Rank {
    std::binary_semaphore baton{0};
    bool ended = false;
    bool waiting = false;
    std::function<bool()> ready;
    Deadline deadline;
    std::string what;
    std::function<std::string()> wait_reporter;
  };

  // Decides who runs next until it is `self` (returns) or, for an ending rank (-1), until the baton
  // has gone to somebody else or everything is over.
  void hand_over(int self);
  // A rank that can go on now, in seeded choice; -1 when there is none.
  [[nodiscard]] int pick_runnable();
  [[nodiscard]] bool runnable(const Rank& rank) const;
  void run_next_event();
  // Runs the timers whose time has come.
  void run_due_timers();
  // No event is left: moves time to the earliest deadline or timer. False when there is none.
  [[nodiscard]] bool advance_to_deadline();
  [[nodiscard]] std::string wait_graph() const;
  [[nodiscard]] bool all_ended() const;
  void run_rank(int rank, const std::function<void(int)>& body);

  SimSettings settings_;
  SeededRandom random_;
  Nanoseconds now_ = 0;
  std::uint64_t serial_ = 0;
  std::priority_queue<Event, std::vector<Event>, Later> events_;
  std::vector<Timer> timers_;  // few: one for each collective under way
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::binary_semaphore finished_{0};
  SimOutcome outcome_;
};

}  // namespace dlo::platform::sim
