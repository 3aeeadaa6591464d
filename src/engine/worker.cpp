#include "engine/worker.h"

#include "engine/rank_measurements.h"
#include "engine/worker_state.h"

namespace dlo::engine {

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
        NamedStep{"components", &State::place_components},
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
  return {*s.device, s.model.first(), *s.pipeline, *s.backend, s.weight_communicator.get()};
}

void Worker::count_forwards(std::uint64_t count) {
  // Measurements run the first transformer.
  static_cast<void>(state_->count_forwards({count}));
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

void Worker::measure() {
  auto& s = *state_;
  s.report.fault_count = s.faults.strike_count();
  if (s.device != nullptr) {
    if (s.pipeline == nullptr) {
      measure_host_peaks(*s.device, s.report);
    }
    measure_memory(*s.device,
                   s.pipeline != nullptr ? s.pipeline->host_operand_bytes() : OperandBytes{},
                   *s.environment.files, s.report);
    if (s.request.platform.device == "cpu") {
      s.report.owned.device_in_host = s.device->device_memory().now_bytes;
    }
  }
  if (s.backend != nullptr && s.pipeline != nullptr) {
    measure_traffic(s.ledger, *s.backend, s.model.ring_walks(s.forwards), s.report);
    allow_gather_staging(s.backend->memory_plan(), s.report);
    if (s.text_component != nullptr) {
      allow_component(*s.text_component, s.report);
    }
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
  if (s.text_component != nullptr) {
    s.release("components", [&s] {
      s.stages.reset();
      if (s.report.abandoned_buffers) {
        s.text_component->abandon();
      }
      s.text_component.reset();
    });
  }
  s.release("communicators", [&s] {
    s.weight_communicator.reset();
    s.weight_control.reset();
  });
  s.release("model", [&s] {
    if (s.report.abandoned_buffers) {
      leave_to_process(std::move(s.host_tensors));
      leave_to_process(std::move(s.other_tensors));
      leave_to_process(std::move(s.pack_threads));
      leave_to_process(std::move(s.pack_workers));
    }
    s.host_tensors.reset();
    s.other_tensors.reset();
    s.pack_workers.reset();
    s.pack_threads.reset();
    s.table.dits.clear();
    s.model.clear();
  });
  s.release("torch", [&s] {
    if (s.torch != nullptr) {
      // A failed run's would count against the next run's limit in this process.
      s.torch->release_workspaces();
    }
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

const RankReport& Worker::report() const {
  return state_->report;
}

}  // namespace dlo::engine
