#include "engine/worker.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "backend/offload_backend.h"
#include "base/thrown_refusal.h"
#include "engine/checkpoint_model.h"
#include "engine/injected_faults.h"
#include "engine/latent_pipeline.h"
#include "engine/lent_tensors.h"
#include "engine/rank_measurements.h"
#include "engine/rank_platform.h"
#include "engine/request_wave.h"
#include "engine/timing_observer.h"
#include "host_weights/ordinary_loader.h"
#include "model/torch_session.h"
#include "platform/cpu/thread_executor.h"
#include "platform/posix/steady_clock.h"
#include "telemetry/copy_ledger.h"
#include "telemetry/timing_decorators.h"

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
  std::unique_ptr<contracts::HostTensors> host_tensors;
  std::unique_ptr<comm::ControlGroup> weight_control;
  std::unique_ptr<comm::Communicator> weight_communicator;
  std::unique_ptr<backend::OffloadBackend> backend;
  std::optional<TimingObserver> timing_observer;
  std::unique_ptr<LatentPipeline> pipeline;
  telemetry::ProcessResources left;  // by shutdown()

  void event(std::string text) { report.events.push_back(std::move(text)); }
  [[nodiscard]] Deadline deadline() const { return Deadline::after(clock.now(), timeout); }

  Status make_device();
  Status make_model();
  Status load_weights();
  Status make_weight_group();
  Status enable_backend();
  Status make_pipeline();
  Status serve_requests();
  void release(std::string_view name, const std::function<void()>& action) noexcept;

  // Runs `step`, turns exceptions into refusals and tells the peers about either.
  Status guarded(std::string_view operation, const std::function<Status()>& step);
};

Status Worker::State::guarded(std::string_view operation, const std::function<Status()>& step) {
  Status status;
  try {
    if (torch != nullptr) {
      torch->activate();  // another worker of this thread may have been at work
    }
    status = step();
  } catch (...) {
    status = thrown_refusal(std::current_exception(), operation);
  }
  if (!status.ok()) {
    const auto& refusal = status.refusal();
    event(fmt::format("{} failed: {}", operation, refusal.code));
    report.code = refusal.code;
    report.message = refusal.message();
    context.failure_signal->raise(
        Failure{refusal.code, context.rank, -1, std::string(operation), refusal.what});
  }
  return status;
}

Status Worker::State::make_device() {
  if (auto status = rank_platform->status(); !status.ok()) {
    return status;
  }
  auto made = rank_platform->make_device(*context.failure_signal);
  if (!made.ok()) {
    return made.refusal();
  }
  device = faults.decorate(std::move(made).value());
  if (environment.decorate_device) {
    device = environment.decorate_device(std::move(device));
  }
  device = std::make_unique<telemetry::LedgerDevice>(std::move(device), ledger);
  if (hooks.timing != nullptr) {
    device = std::make_unique<telemetry::TimingDevice>(std::move(device), *hooks.timing);
  }
  // Reductions split by thread count: one thread on every rank, so that runs can be compared.
  torch = std::make_unique<model::TorchSession>(*device, model::TorchSessionOptions{});
  event("device");
  return {};
}

Status Worker::State::make_model() {
  auto made = read_checkpoint_model(faults.files(), request.model, *device);
  if (!made.ok()) {
    return made.refusal();
  }
  model = std::move(made).value();
  for (const auto& note : model.notes) {
    event(note);
  }
  table.dits.push_back(model.transformer->spec());
  contracts::check_table(table);
  event("model");
  return {};
}

Status Worker::State::load_weights() {
  if (hooks.shared_tensors != nullptr && *hooks.shared_tensors != nullptr) {
    host_tensors = std::make_unique<LentTensors>(**hooks.shared_tensors);
    event("load: shared");
    return {};
  }
  platform::ThreadExecutor threads(host_weights::kDefaultLoadThreads);
  auto executor = faults.executor(threads);
  host_weights::LoadRequest load;
  load.tensors = table.tensors();
  const auto& component = table.dits.front().name;
  load.sources.push_back({.path = request.model.checkpoint,
                          .subfolder = component,
                          .prefix = component + ".",
                          .file_patterns = {}});
  auto loaded = host_weights::load_ordinary(faults.files(), *device, executor, load);
  if (!loaded.ok()) {
    return loaded.refusal();
  }
  host_tensors = std::move(loaded->tensors);
  if (hooks.shared_tensors != nullptr) {
    *hooks.shared_tensors = std::move(host_tensors);
    host_tensors = std::make_unique<LentTensors>(**hooks.shared_tensors);
  }
  for (const auto& name : loaded->report.tolerated) {
    event("not in the checkpoint, tolerated: " + name);
  }
  event("load");
  return {};
}

Status Worker::State::make_weight_group() {
  auto& world = faults.world();
  if (weight_group.axis == backend::GroupAxis::kNone) {
    world.watch_failures_of({context.rank});
    return {};
  }
  world.watch_failures_of(weight_group.ranks);
  auto control = world.make_control_group(weight_group.ranks, "weight control", deadline());
  if (!control.ok()) {
    return control.refusal();
  }
  weight_control = std::move(control).value();
  auto communicator = world.make_communicator(weight_group.ranks, "weights", deadline(), timeout);
  if (!communicator.ok()) {
    return communicator.refusal();
  }
  weight_communicator = std::make_unique<telemetry::LedgerCommunicator>(
      rank_platform->reach(std::move(communicator).value()), ledger);
  if (hooks.timing != nullptr) {
    weight_communicator = std::make_unique<telemetry::TimingCommunicator>(
        std::move(weight_communicator), *hooks.timing);
  }
  event("weight group");
  return {};
}

Status Worker::State::enable_backend() {
  backend = std::make_unique<backend::OffloadBackend>(
      backend::BackendRequest{.config = config,
                              .table = table,
                              .host_tensors = *host_tensors,
                              .device = *device,
                              .context = context,
                              .weight_control = weight_control.get(),
                              .weight_communicator = weight_communicator.get(),
                              .weight_axis = weight_group.axis,
                              .timeout = timeout});
  const Status status = backend->enable();
  report.effective = backend->effective();
  for (const auto& lost : config.set_aside) {
    report.effective.downgrades.push_back({lost.code, lost.message()});
  }
  for (const auto& step : backend->steps()) {
    event(step);
  }
  if (status.ok()) {
    auto* observer = backend->observer(0);
    if (hooks.timing != nullptr && observer != nullptr) {
      observer = &timing_observer.emplace(*observer, *hooks.timing);
    }
    model.transformer->set_observer(observer);
    event("enable");
  }
  return status;
}

Status Worker::State::make_pipeline() {
  auto made = LatentPipeline::make(*device, *model.transformer, model.scheduler, request.requests);
  if (!made.ok()) {
    return made.refusal();
  }
  pipeline = std::move(made).value();
  // One imposed limit for both allocators: torch gets what the platform left.
  if (const auto budget = request.platform.device_budget_bytes) {
    torch->limit_memory(*budget - device->device_memory().now_bytes);
  }
  event("pipeline");
  return {};
}

Status Worker::State::serve_requests() {
  // Without a weight group replicas do not wait for each other, so nobody recomputes.
  const auto schedule =
      weight_group.axis == backend::GroupAxis::kData ? Schedule::kWaves : Schedule::kIndependent;
  const bool primary = coordinates.sp == 0 && coordinates.tp == 0;
  for (const auto& assignment :
       assign_requests(request.requests.count, schedule, coordinates.dp, topology.dp)) {
    const Nanoseconds begin = clock.now();
    auto digest = pipeline->run(assignment.request, timeout);
    if (!digest.ok()) {
      return digest.refusal();
    }
    const auto forwards = pipeline->forwards_per_request();
    report.forward_ms.push_back(
        static_cast<double>(clock.now() - begin) /
        static_cast<double>(kMillisecond * static_cast<Nanoseconds>(forwards)));
    report.traffic.forward_count += forwards;
    if (assignment.answers && primary) {
      report.outputs.push_back({assignment.request, *digest});
    }
    if (auto status = backend->end_request(); !status.ok()) {
      return status;
    }
  }
  event("requests");
  return {};
}

void Worker::State::release(std::string_view name, const std::function<void()>& action) noexcept {
  try {
    action();
    event(fmt::format("release {}", name));
  } catch (const std::exception& error) {
    event(fmt::format("release {} failed: {}", name, error.what()));
  }
}

Worker::Worker(const RunEnvironment& environment, const RunRequest& request,
               const config::OffloadConfig& config, const comm::Topology& topology,
               const WorkerHooks& hooks)
    : state_(std::make_unique<State>(environment, request, config, topology, hooks)) {}

Worker::~Worker() {
  shutdown();
}

Status Worker::start() {
  auto& s = *state_;
  using NamedStep = std::pair<std::string_view, Status (State::*)()>;
  for (const auto& [name, step] :
       {NamedStep{"device", &State::make_device},
        NamedStep{"weight group", &State::make_weight_group},
        NamedStep{"model", &State::make_model}, NamedStep{"load", &State::load_weights},
        NamedStep{"enable", &State::enable_backend},
        NamedStep{"pipeline", &State::make_pipeline}}) {
    if (auto status = s.guarded(name, [&s, step = step] { return (s.*step)(); }); !status.ok()) {
      return status;
    }
  }
  return {};
}

Status Worker::serve() {
  return state_->guarded("serve", [this] { return state_->serve_requests(); });
}

Status Worker::guard(std::string_view operation, const std::function<Status()>& step) {
  return state_->guarded(operation, step);
}

WorkerParts Worker::parts() {
  auto& s = *state_;
  require(s.pipeline != nullptr, "parts of a worker that has not started");
  return {*s.device, *s.model.transformer, *s.pipeline, *s.backend, s.weight_communicator.get()};
}

void Worker::count_forwards(std::uint64_t count) {
  state_->report.traffic.forward_count += count;
}

void Worker::measure() {
  state_->report.fault_count = state_->faults.strike_count();
  auto& s = *state_;
  if (s.device != nullptr) {
    measure_memory(
        *s.device,
        s.pipeline != nullptr ? s.pipeline->host_operand_bytes() : LatentPipeline::OperandBytes{},
        *s.environment.files, s.report);
  }
  if (s.backend != nullptr && s.pipeline != nullptr) {
    measure_traffic(s.ledger, *s.backend, s.report);
  }
}

void Worker::shutdown() noexcept {
  auto& s = *state_;
  if (s.backend != nullptr) {
    for (const auto& problem : s.backend->disable()) {
      s.event("disable: " + problem);
    }
    s.event("disable");
    s.report.abandoned_buffers = s.backend->abandoned_buffers();
    s.release("backend", [&s] { s.backend.reset(); });
  }
  s.release("pipeline", [&s] { s.pipeline.reset(); });
  s.release("communicators", [&s] {
    s.weight_communicator.reset();
    s.weight_control.reset();
  });
  s.release("model", [&s] {
    s.host_tensors.reset();
    s.table.dits.clear();
    s.model.transformer.reset();
  });
  s.release("torch", [&s] {
    // Giving memory back waits for the device: only where nothing is stuck in it.
    if (s.torch != nullptr && !s.device->failure() && !s.context.failure_signal->poll()) {
      s.torch->release_cached();
    }
    s.torch.reset();
  });
  if (s.device != nullptr) {
    telemetry::add_device_books(*s.device, s.left);
  }
  s.release("device", [&s] { s.device.reset(); });
}

const telemetry::ProcessResources& Worker::left_on_device() const {
  return state_->left;
}

DeviceCounters Worker::counters() const {
  auto counters = state_->rank_platform->counters();
  if (const auto memory = state_->torch->memory()) {
    counters.allocator_peak_bytes = memory->allocated.peak_bytes;
  }
  return counters;
}

void Worker::reset_peaks() {
  state_->torch->reset_peaks();
}

const RankReport& Worker::report() const {
  return state_->report;
}

}  // namespace dlo::engine
