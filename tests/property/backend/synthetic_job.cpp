#include "tests/property/backend/synthetic_job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

#include "comm/threads/thread_world.h"
#include "platform/cpu/cpu_device.h"
#include "platform/cpu/thread_executor.h"
#include "platform/posix/steady_clock.h"
#include "synthetic/synthetic_weights.h"
#include "telemetry/copy_ledger.h"
#include "tests/support/thread_ranks.h"

namespace dlo::test {

using platform::Site;

namespace {

std::vector<int> all_ranks(int ranks) {
  std::vector<int> list(static_cast<std::size_t>(ranks));
  std::iota(list.begin(), list.end(), 0);
  return list;
}

// One rank from device to disable(), in the engine's order.
class Rank {
 public:
  Rank(const SyntheticJob& job, comm::World& world, platform::SteadyClock& clock)
      : job_(job),
        context_(make_rank_context(world.rank(), world.size(), world.failure_signal())),
        model_(job.shape),
        packers_(job.pack_threads) {
    if (job.mapped) {
      auto mapping = std::make_unique<synthetic::SyntheticMapping>(model_.table(), model_.seed());
      mapping_ = mapping.get();
      tensors_ = std::move(mapping);
    } else {
      tensors_ = std::make_unique<synthetic::SyntheticTensors>(model_.table(), model_.seed());
    }
    offload_plan_ = model_.offload_plan();
    platform::CpuDeviceOptions options;
    options.rank = world.rank();
    auto device = platform::make_cpu_device(options, clock, world.failure_signal());
    if (job.decorate) {
      device = job.decorate(world.rank(), std::move(device));
    }
    device_ = std::make_unique<telemetry::LedgerDevice>(std::move(device), ledger_);
    if (job.config.dlo_use_allgather && job.config.dp_size > 1) {
      const auto ranks = all_ranks(job.ranks);
      const auto deadline = Deadline::after(clock.now(), job.timeout);
      control_ = world.make_control_group(ranks, "weights", deadline).value();
      communicator_ = std::make_unique<telemetry::LedgerCommunicator>(
          world.make_communicator(ranks, "weights", deadline, job.timeout).value(), ledger_);
    }
  }

  RankOutcome run() {
    backend::OffloadBackend backend(backend::BackendRequest{
        .config = job_.config,
        .table = model_.table(),
        .host_tensors = *tensors_,
        .device = *device_,
        .context = context_,
        .weight_control = control_.get(),
        .weight_communicator = communicator_.get(),
        .weight_axis = control_ != nullptr ? job_.axis : backend::GroupAxis::kNone,
        .offload_plan = &offload_plan_,
        .pack_workers = job_.pack_threads > 1 ? &packers_ : nullptr,
        .timeout = job_.timeout});
    const auto status = serve(backend);
    if (!status.ok()) {
      outcome_.code = status.refusal().code;
      outcome_.message = status.refusal().message();
      context_.failure_signal->raise(
          Failure{status.refusal().code, context_.rank, -1, "serve", status.refusal().what});
    }
    measure(backend);
    outcome_.problems = backend.disable();
    outcome_.steps = backend.steps();
    outcome_.untouched_after = model_.untouched();
    outcome_.bytes_left = device_->device_memory().now_bytes + device_->pinned_memory().now_bytes +
                          device_->pageable_memory().now_bytes;
    outcome_.host_tensors_left_bytes = tensors_->held_bytes();
    outcome_.mapped_left = mapping_ != nullptr ? mapping_->mapped_count() : 0;
    outcome_.findings = model_.findings();
    outcome_.digest = model_.digest();
    return outcome_;
  }

 private:
  [[nodiscard]] Deadline deadline() const {
    return Deadline::after(device_->clock().now(), job_.timeout);
  }

  Status serve(backend::OffloadBackend& backend) {
    auto status = backend.enable();
    if (!status.ok()) {
      return status;
    }
    forwards_.assign(job_.shape.rings.size(), 0);
    outcome_.mapped_after_enable = mapping_ != nullptr ? mapping_->mapped_count() : 0;
    try {
      const auto own = job_.requests_of.find(context_.rank);
      for (const auto& request : own != job_.requests_of.end() ? own->second : job_.requests) {
        status = backend.begin_request();
        if (!status.ok()) {
          return status;
        }
        for (const auto& walk : request) {
          serve_walk(backend, walk);
        }
        status = backend.end_request();
        if (!status.ok()) {
          return status;
        }
        if (job_.after_request && mapping_ != nullptr && context_.rank == 0) {
          job_.after_request(*mapping_);
        }
      }
    } catch (const RunError& error) {
      return error.refusal();
    } catch (const Error& error) {  // a defect, which mutants are
      return refuse(error.code(), error.what(), "serve", "none");
    }
    return device_->synchronize(deadline());
  }

  void serve_walk(backend::OffloadBackend& backend, const Walk& walk) {
    auto* observer = backend.observer(walk.ring);
    if (walk.order.empty()) {
      model_.run(*device_, walk.ring, observer);
    } else {
      model_.run_order(*device_, walk.ring, observer, walk.order);
    }
    ++forwards_[walk.ring];
  }

  void measure(const backend::OffloadBackend& backend) {
    outcome_.effective = backend.effective();
    outcome_.memory = backend.memory_plan();
    outcome_.repairs = backend.repair_count();
    if (outcome_.code.empty()) {
      outcome_.planned = backend.planned_traffic(forwards_);
    }
    const auto h2d = ledger_.at(Site::kH2d);
    const auto gather = ledger_.at(Site::kGather);
    outcome_.measured = backend::Traffic{h2d.calls, h2d.bytes, gather.calls, gather.bytes};
    outcome_.device_peak_bytes = device_->device_memory().peak_bytes;
    outcome_.pinned_peak_bytes = device_->pinned_memory().peak_bytes;
  }

  const SyntheticJob& job_;
  RankContext context_;
  synthetic::SyntheticModel model_;
  platform::ThreadExecutor packers_;
  std::unique_ptr<contracts::HostTensors> tensors_;
  synthetic::SyntheticMapping* mapping_ = nullptr;  // tensors_, when they are mapped
  contracts::OffloadPlan offload_plan_;
  telemetry::CopyLedger ledger_;
  std::unique_ptr<platform::Device> device_;
  std::unique_ptr<comm::ControlGroup> control_;
  std::unique_ptr<comm::Communicator> communicator_;
  std::vector<std::uint64_t> forwards_;
  RankOutcome outcome_;
};

}  // namespace

bool RankOutcome::good(std::uint64_t resident) const {
  return code.empty() && findings.clean() && digest == resident && measured == planned &&
         device_peak_bytes <= memory.device_limit_bytes() &&
         pinned_peak_bytes == memory.pinned_bytes() && bytes_left == 0 &&
         host_tensors_left_bytes == 0 && mapped_left == 0 && untouched_after && problems.empty();
}

std::string RankOutcome::text() const {
  return fmt::format(
      "code '{}' ({}), {} blocks computed, {} wrong tensors (first {}), digest {:016x}, h2d {}/{} "
      "of {}/{} planned, gather {}/{} of {}/{}, {} repairs, device peak {} of {}, pinned peak {} "
      "of {}, {} bytes left, {} host bytes left, {} tensors left mapped, untouched {}, problems: "
      "{}",
      code, message, findings.computed_blocks, findings.wrong_tensors, findings.first, digest,
      measured.h2d_calls, measured.h2d_bytes, planned.h2d_calls, planned.h2d_bytes,
      measured.gather_calls, measured.gather_bytes, planned.gather_calls, planned.gather_bytes,
      repairs, device_peak_bytes, memory.device_limit_bytes(), pinned_peak_bytes,
      memory.pinned_bytes(), bytes_left, host_tensors_left_bytes, mapped_left, untouched_after,
      fmt::join(problems, "; "));
}

std::vector<RankOutcome> run_job(const SyntheticJob& job) {
  platform::SteadyClock clock;
  auto worlds = comm::make_thread_world(job.ranks, clock);
  std::vector<RankOutcome> outcomes(static_cast<std::size_t>(job.ranks));
  test_support::run_ranks(worlds, [&](comm::World& world) {
    Rank self(job, world, clock);
    outcomes[static_cast<std::size_t>(world.rank())] = self.run();
  });
  return outcomes;
}

std::uint64_t resident_digest(const SyntheticJob& job) {
  SyntheticJob resident = job;
  resident.config = config::OffloadConfig{};
  resident.ranks = 1;
  resident.decorate = {};
  resident.mapped = false;
  resident.requests_of.clear();
  const auto outcome = run_job(resident).front();
  require(outcome.good(outcome.digest), "the resident run is not good: " + outcome.text());
  return outcome.digest;
}

config::OffloadConfig streaming_config(std::uint32_t dp_size, std::uint32_t depth,
                                       std::uint64_t chunk_bytes) {
  config::OffloadConfig config;
  config.strategy = config::OffloadStrategy::kDistributedLayerwise;
  config.dlo_use_allgather = dp_size > 1;
  config.dp_size = dp_size;
  config.prefetch_depth = depth;
  config.chunk_bytes = chunk_bytes;
  return config;
}

std::vector<std::vector<Walk>> whole_walks(std::size_t rings, std::uint32_t requests,
                                           std::uint32_t steps) {
  std::vector<Walk> walks;
  for (std::size_t ring = 0; ring < rings; ++ring) {
    walks.insert(walks.end(), steps, Walk{ring, {}});
  }
  return std::vector<std::vector<Walk>>(requests, walks);
}

std::vector<std::vector<Walk>> whole_forwards(std::size_t rings, std::uint32_t requests,
                                              std::uint32_t steps) {
  std::vector<Walk> walks;
  for (std::uint32_t step = 0; step < steps; ++step) {
    for (std::size_t child = 1; child < rings; ++child) {
      walks.push_back(Walk{child, {}});
    }
    walks.push_back(Walk{0, {}});
  }
  return std::vector<std::vector<Walk>>(requests, walks);
}

}  // namespace dlo::test
