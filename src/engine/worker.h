// Owns: Worker, everything that one rank of a run has, made in the start-up order and let go in the
// shutdown order: device, model, host tensors, weight group, backend, pipeline.
// Must not own: validation, agreement between ranks, the merged report (engine/model_runner.h).
// Source: reference "Startup and runtime sequence" and 5.14: disable() precedes the communicators'
// teardown, whatever happened before.
// Threading: one launching thread a worker; ranks may be threads of one process.
#pragma once

#include <memory>

#include "base/rank_context.h"
#include "comm/process_groups.h"
#include "config/offload_config.h"
#include "engine/model_runner.h"

namespace dlo::engine {

class Worker {
 public:
  // `environment`, `request` and `config` outlive the worker. Precondition: the rank lies inside
  // `topology`.
  Worker(const RunEnvironment& environment, const RunRequest& request,
         const config::OffloadConfig& config, const comm::Topology& topology);
  // Shuts down if shutdown() was not called.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Device, model, weights, weight group, backend: each step appends to events(). The first
  // refusal ends it; it is also raised on the failure signal, so that peers leave their waits.
  [[nodiscard]] Status start();

  // Serves this replica's requests. Same failure rule. Precondition: start() was ok.
  [[nodiscard]] Status serve();

  // Books the figures of a run that is still up: memory, traffic against the plan.
  void measure();

  // disable() first, then communicators, then host tensors and device. Idempotent, never throws;
  // problems are appended to events().
  void shutdown() noexcept;

  [[nodiscard]] const RankReport& report() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dlo::engine
