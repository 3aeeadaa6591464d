// Owns: Worker, everything that one rank of a run has, made in the start-up order and let go in the
// shutdown order: device, model, host tensors, weight group, backend, pipeline.
// Must not own: validation, agreement between ranks, the merged report (engine/model_runner.h).
// Source: reference "Startup and runtime sequence" and 5.14: disable() precedes the communicators'
// teardown, whatever happened before.
// Threading: one launching thread a worker; ranks may be threads of one process.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "backend/offload_backend.h"
#include "base/rank_context.h"
#include "comm/process_groups.h"
#include "config/offload_config.h"
#include "engine/device_counters.h"
#include "engine/latent_pipeline.h"
#include "engine/lent_tensors.h"
#include "engine/model_runner.h"
#include "telemetry/block_timing.h"

namespace dlo::engine {

// What a throughput run puts into its workers; empty otherwise.
struct WorkerHooks {
  telemetry::BlockTiming* timing = nullptr;  // is told what passes the worker's seams
  // Loaded by the first worker that finds none there, lent to all, freed by their owner.
  SharedTensors* shared_tensors = nullptr;
};

// Of a started worker, for measurements.
struct WorkerParts {
  platform::Device& device;
  model::DitModel& model;
  LatentPipeline& pipeline;
  backend::OffloadBackend& backend;
  comm::Communicator* weight_communicator;  // null without a weight group
};

class Worker {
 public:
  // `environment`, `request`, `config` and what `hooks` names outlive the worker. Precondition: the
  // rank lies inside `topology`.
  Worker(const RunEnvironment& environment, const RunRequest& request,
         const config::OffloadConfig& config, const comm::Topology& topology,
         const WorkerHooks& hooks = {});
  // Shuts down if shutdown() was not called.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Device, weight group, model, weights, backend, pipeline: each step appends to the report's
  // events. The first refusal ends it; it is also raised on the failure signal, so that peers leave
  // their waits, and this rank's gathers are aborted.
  [[nodiscard]] Status start();

  // Serves this replica's requests. Same failure rule. Precondition: start() was ok.
  [[nodiscard]] Status serve();

  // For measurements in place of serve(). guard() runs `step` under the failure rule of start().
  [[nodiscard]] Status guard(std::string_view operation, const std::function<Status()>& step);
  // Precondition: start() was ok.
  [[nodiscard]] WorkerParts parts();
  // Forwards that were run outside serve(), for the traffic plan.
  void count_forwards(std::uint64_t count);
  // Of the accelerator and of torch's allocator, whose peak counts from the last reset_peaks() on.
  [[nodiscard]] DeviceCounters counters() const;
  void reset_peaks();

  // Books the figures of a run that is still up: memory, traffic against the plan.
  void measure();

  // disable() first, then communicators, then host tensors and device. Idempotent, never throws;
  // problems are appended to the events.
  void shutdown() noexcept;
  // What the device's books still listed when shutdown() let go of it.
  [[nodiscard]] const telemetry::ProcessResources& left_on_device() const;

  [[nodiscard]] const RankReport& report() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dlo::engine
