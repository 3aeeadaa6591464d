// Owns: Worker::State, what a worker holds, in the order in which it comes to it, and its steps.
// Must not own: the order of the steps (worker.cpp). Internal to worker*.cpp.
// Threading and failure: those of Worker.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/device_component.h"
#include "engine/checkpoint_model.h"
#include "engine/injected_faults.h"
#include "engine/lent_tensors.h"
#include "engine/rank_platform.h"
#include "engine/timing_observer.h"
#include "engine/worker.h"
#include "host_weights/weight_loader.h"
#include "model/torch_session.h"
#include "platform/cpu/thread_executor.h"
#include "platform/posix/steady_clock.h"
#include "telemetry/copy_ledger.h"

namespace dlo::engine {

struct Worker::State {
  State(const RunEnvironment& env, const RunRequest& run, const config::OffloadConfig& normal,
        const comm::Topology& shape, const WorkerHooks& given_hooks)
      : environment(env),
        request(run),
        hooks(given_hooks),
        rank_platform(make_rank_platform(run.platform, *env.world, clock)),
        faults(run.platform, rank_platform->world(), *env.files, clock, env.before_crash),
        config(faults.adjust(normal)),
        topology(shape),
        coordinates(comm::coordinates_of(shape, env.world->rank())),
        context(
            make_rank_context(env.world->rank(), env.world->size(), env.world->failure_signal())),
        timeout(
            static_cast<Nanoseconds>(run.platform.wait_timeout_s * static_cast<double>(kSecond))),
        weight_group(backend::weight_group(config, shape, context.rank)) {
    report.rank = context.rank;
    report.coordinates = coordinates;
    report.weight_group = weight_group.ranks;
    report.gather = rank_platform->gather();
  }

  const RunEnvironment& environment;
  const RunRequest& request;
  const WorkerHooks hooks;
  platform::SteadyClock clock;
  std::unique_ptr<RankPlatform> rank_platform;
  InjectedFaults faults;
  const config::OffloadConfig config;
  comm::Topology topology;
  comm::Coordinates coordinates;
  RankContext context;
  RankReport report;
  Nanoseconds timeout;
  backend::WeightGroup weight_group;

  // In start-up order; shutdown() releases them in reverse.
  telemetry::CopyLedger ledger;
  std::unique_ptr<platform::Device> device;
  std::unique_ptr<model::TorchSession> torch;
  CheckpointModel model;
  contracts::ParameterTable table;
  std::vector<std::uint64_t> forwards;  // that were run, by transformer
  std::unique_ptr<contracts::HostTensors> host_tensors;
  std::unique_ptr<contracts::HostTensors> other_tensors;  // of components, beside mapped DiTs
  std::optional<Refusal> mapping_refused;                 // by the preflight
  // Beside the pack stream, of mapped tensors alone.
  std::unique_ptr<platform::ThreadExecutor> pack_threads;
  std::unique_ptr<platform::FaultingExecutor> pack_workers;
  std::unique_ptr<comm::ControlGroup> weight_control;
  std::unique_ptr<comm::Communicator> weight_communicator;
  std::unique_ptr<backend::OffloadBackend> backend;
  std::optional<TimingObserver> timing_observer;
  std::unique_ptr<backend::DeviceComponent> text_component;  // null without prompts
  std::optional<backend::ComponentStages> stages;
  std::unique_ptr<LatentPipeline> pipeline;
  telemetry::ProcessResources left;  // by shutdown()

  void event(std::string text) { report.events.push_back(std::move(text)); }
  [[nodiscard]] Deadline deadline() const { return Deadline::after(clock.now(), timeout); }

  Status make_device();
  Status make_model();
  Status load_weights();
  Status load_own_weights(const host_weights::WeightLoadRequest& load);
  contracts::HostTensors* find_shared(const host_weights::WeightLoadRequest& load);
  Status make_weight_group();
  Status enable_backend();
  Status place_components();
  Status encode_prompt(std::uint32_t of_request);
  // Of components that come and go.
  [[nodiscard]] std::uint64_t on_demand_bytes() const;
  Status make_pipeline();
  Status serve_requests();
  // Books forwards, by transformer, and returns their sum.
  std::uint64_t count_forwards(const std::vector<std::uint64_t>& more);
  void release(std::string_view name, const std::function<void()>& action) noexcept;

  // Runs `step`, turns exceptions into refusals and tells the peers about either; behind a failure
  // no gather of this rank waits for a peer any more.
  Status guarded(std::string_view operation, const std::function<Status()>& step);
};

}  // namespace dlo::engine
