#include "engine/simulation/simulated_run.h"

#include <fmt/format.h>

#include <numeric>
#include <optional>

#include "backend/offload_backend.h"
#include "base/seeded_random.h"
#include "comm/sim/sim_world.h"
#include "config/offload_config.h"
#include "platform/sim/sim_device.h"
#include "synthetic/synthetic_model.h"
#include "synthetic/synthetic_weights.h"
#include "telemetry/copy_ledger.h"

namespace dlo::engine {

namespace {

using platform::Site;
using platform::sim::ExploringCosts;
using platform::sim::SimDevice;
using platform::sim::SimKernel;

// Virtual; far beyond any schedule's length, so that reaching it means a deadlock.
constexpr Nanoseconds kTimeout = 100 * kSecond;
// Chance that a block is left out of a walk when the case skips blocks.
constexpr std::uint32_t kSkipPercent = 30;

config::OffloadConfig config_of(const SimulatedCase& simulated) {
  config::OffloadConfig config;
  config.strategy = config::OffloadStrategy::kDistributedLayerwise;
  config.pin_cpu_memory = simulated.pin_cpu_memory;
  config.dp_size = simulated.use_allgather ? simulated.ranks : 1;
  config.dlo_use_allgather = simulated.use_allgather;
  config.prefetch_depth = simulated.prefetch_depth;
  config.chunk_bytes = simulated.chunk_bytes;
  config.input_slots = simulated.input_slots;
  return config;
}

// What one rank of the case does, from set-up to the last oracle.
class RankRun {
 public:
  RankRun(SimKernel& kernel, comm::SimFabric& fabric, const SimulatedCase& simulated, int rank)
      : kernel_(kernel),
        fabric_(fabric),
        simulated_(simulated),
        rank_(rank),
        world_(comm::make_sim_world(fabric, rank)),
        model_(synthetic::draw_shape(simulated.shape_seed, simulated.ring_blocks)),
        tensors_(model_.table(), model_.seed()),
        config_(config_of(simulated)),
        choices_(simulated.shape_seed * 1000 + 7) {}

  void run(const platform::sim::SimDeviceSettings& settings, const DeviceDecorator& decorate) {
    auto device = std::make_unique<SimDevice>(kernel_, settings, world_->failure_signal());
    SimDevice& simulator = *device;
    fabric_.attach(rank_, &simulator);
    device_ = std::move(device);
    if (decorate) {
      device_ = decorate(std::move(device_), rank_);
    }
    device_ = std::make_unique<telemetry::LedgerDevice>(std::move(device_), ledger_);
    make_group();
    serve();
    check(model_.untouched(), "a block still has a place after disable()");
    check(simulator.live_buffer_count() == 0, "buffers are left after disable()");
    fabric_.attach(rank_, nullptr);
    device_.reset();
  }

 private:
  void check(bool holds, std::string_view what) {
    if (!holds) {
      kernel_.violate(fmt::format("rank {}: {}", rank_, what));
    }
  }

  void check(const Status& status, std::string_view what) {
    if (!status.ok()) {
      kernel_.violate(fmt::format("rank {}: {}: {}", rank_, what, status.refusal().message()));
    }
  }

  [[nodiscard]] Deadline deadline() { return Deadline::after(kernel_.now(), kTimeout); }

  void make_group() {
    if (config_.dp_size <= 1) {
      return;
    }
    std::vector<int> ranks(simulated_.ranks);
    std::iota(ranks.begin(), ranks.end(), 0);
    control_ = world_->make_control_group(ranks, "weight control", deadline()).value();
    communicator_ = std::make_unique<telemetry::LedgerCommunicator>(
        world_->make_communicator(ranks, "weights", deadline(), kTimeout).value(), ledger_);
  }

  void serve() {
    const auto context =
        make_rank_context(rank_, static_cast<int>(simulated_.ranks), world_->failure_signal());
    backend::OffloadBackend backend(backend::BackendRequest{
        .config = config_,
        .table = model_.table(),
        .host_tensors = tensors_,
        .device = *device_,
        .context = context,
        .weight_control = control_.get(),
        .weight_communicator = communicator_.get(),
        .weight_axis = control_ ? backend::GroupAxis::kData : backend::GroupAxis::kNone,
        .timeout = kTimeout});
    const auto enabled = backend.enable();
    check(enabled, "enable()");
    if (enabled.ok()) {
      try {
        walk_all(backend);
      } catch (const RunError& error) {
        check(error.refusal(), "a forward");
      }
      check(device_->synchronize(deadline()), "synchronize");
      judge(backend);
    }
    for (const auto& problem : backend.disable()) {
      check(false, "disable(): " + problem);
    }
  }

  void walk_all(backend::OffloadBackend& backend) {
    for (std::uint32_t request = 0; request < simulated_.requests; ++request) {
      for (std::uint32_t walk = 0; walk < simulated_.walks_per_request; ++walk) {
        for (std::size_t ring = 0; ring < simulated_.ring_blocks.size(); ++ring) {
          walk_ring(ring, backend.observer(ring));
        }
      }
      check(backend.end_request(), "end_request()");
    }
  }

  void walk_ring(std::size_t ring, contracts::BlockObserver* observer) {
    if (!simulated_.skip_blocks) {
      model_.run(*device_, ring, observer);
      return;
    }
    std::vector<std::uint32_t> order;
    for (std::uint32_t block = 0; block < simulated_.ring_blocks[ring]; ++block) {
      if (!choices_.chance(kSkipPercent)) {
        order.push_back(block);
      }
    }
    model_.run_order(*device_, ring, observer, order);
  }

  void judge(const backend::OffloadBackend& backend) {
    check(model_.findings().clean(), "compute read wrong bytes: " + model_.findings().first);
    const auto& plan = backend.memory_plan();
    check(device_->device_memory().peak_bytes <= plan.device_limit_bytes(),
          "device memory exceeds its limit");
    check(device_->pinned_memory().peak_bytes <= plan.pinned_bytes(),
          "pinned memory exceeds what was promised");
    if (!simulated_.skip_blocks) {
      judge_traffic(backend);
    }
  }

  void judge_traffic(const backend::OffloadBackend& backend) {
    const std::uint64_t walks = simulated_.requests * simulated_.walks_per_request;
    const auto planned =
        backend.planned_traffic(std::vector<std::uint64_t>(simulated_.ring_blocks.size(), walks));
    const auto h2d = ledger_.at(Site::kH2d);
    const auto gather = ledger_.at(Site::kGather);
    check(h2d.bytes == planned.h2d_bytes && h2d.calls == planned.h2d_calls,
          fmt::format("{} H2D bytes in {} calls, planned {} in {}", h2d.bytes, h2d.calls,
                      planned.h2d_bytes, planned.h2d_calls));
    check(gather.bytes == planned.gather_bytes && gather.calls == planned.gather_calls,
          fmt::format("{} gathered bytes in {} calls, planned {} in {}", gather.bytes, gather.calls,
                      planned.gather_bytes, planned.gather_calls));
  }

  SimKernel& kernel_;
  comm::SimFabric& fabric_;
  const SimulatedCase& simulated_;
  int rank_;
  std::unique_ptr<comm::World> world_;
  synthetic::SyntheticModel model_;
  synthetic::SyntheticTensors tensors_;
  config::OffloadConfig config_;
  SeededRandom choices_;  // equal on all ranks: they run the same blocks
  telemetry::CopyLedger ledger_;
  std::unique_ptr<platform::Device> device_;
  std::unique_ptr<comm::ControlGroup> control_;
  std::unique_ptr<comm::Communicator> communicator_;
};

}  // namespace

SimulatedVerdict simulate(const SimulatedCase& simulated, std::uint64_t seed,
                          const DeviceDecorator& decorate,
                          std::vector<platform::sim::SimTraceRow>* trace) {
  SimKernel kernel({.seed = seed, .rank_count = static_cast<int>(simulated.ranks)});
  const ExploringCosts costs(seed);
  comm::SimFabric fabric(kernel, static_cast<int>(simulated.ranks));
  const auto outcome = kernel.run([&](int rank) {
    RankRun(kernel, fabric, simulated, rank)
        .run({.rank = rank, .budgets = {}, .costs = &costs, .trace = trace}, decorate);
  });
  return {outcome.violation, outcome.trace_digest, outcome.event_count, outcome.end_time};
}

}  // namespace dlo::engine
