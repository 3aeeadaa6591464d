#include "engine/simulation/simulated_rank.h"

#include <fmt/format.h>

#include <numeric>

#include "base/codes.h"
#include "comm/fault/faulting_world.h"
#include "platform/fault/faulting_device.h"

namespace dlo::engine {

namespace {

using platform::Site;
using platform::sim::SimDevice;

// Virtual; far beyond any schedule's length, so that without faults reaching it means a deadlock.
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
  config.staging_chunk_bytes = simulated.staging_chunk_bytes;
  config.staging_bytes = simulated.staging_bytes;
  config.dlo_resident_layers = simulated.resident_layers;
  return config;
}

synthetic::SyntheticShape make_shape(const SimulatedCase& simulated) {
  auto shape = simulated.two_lists
                   ? synthetic::two_list_shape(simulated.shape_seed, simulated.ring_blocks)
                   : synthetic::draw_shape(simulated.shape_seed, simulated.ring_blocks);
  return simulated.children ? synthetic::with_children(std::move(shape)) : shape;
}

std::unique_ptr<contracts::HostTensors> make_tensors(const SimulatedCase& simulated,
                                                     const synthetic::SyntheticModel& model) {
  if (simulated.mapped) {
    return std::make_unique<synthetic::SyntheticMapping>(model.table(), model.seed());
  }
  return std::make_unique<synthetic::SyntheticTensors>(model.table(), model.seed());
}

}  // namespace

SimulatedRank::SimulatedRank(platform::sim::SimKernel& kernel, comm::SimFabric& fabric,
                             const SimulatedCase& simulated, const SimulatedExtras& extras,
                             int rank)
    : kernel_(kernel),
      fabric_(fabric),
      simulated_(simulated),
      extras_(extras),
      rank_(rank),
      base_world_(comm::make_sim_world(fabric, rank)),
      world_(base_world_.get()),
      model_(make_shape(simulated)),
      tensors_(make_tensors(simulated, model_)),
      offload_plan_(model_.offload_plan()),
      config_(config_of(simulated)),
      choices_(simulated.shape_seed * 1000 + 7) {
  if (extras.faults != nullptr) {
    injector_ = std::make_unique<platform::FaultInjector>(*extras.faults, rank);
    pack_workers_.emplace(packer_, *injector_);
    faulting_world_ = comm::make_faulting_world(*base_world_, *injector_);
    world_ = faulting_world_.get();
  }
}

RankVerdict SimulatedRank::run(const platform::sim::CostModel& costs) {
  make_device(costs);
  if (make_group()) {
    serve();
  }
  tear_down();
  if (injector_ != nullptr) {
    verdict_.strike_count = injector_->strike_count();
    verdict_.struck_code = injector_->first_code();
    verdict_.strikes = injector_->strikes();
    verdict_.sites = injector_->sites();
  }
  return verdict_;
}

void SimulatedRank::violate(std::string_view what) {
  kernel_.violate(fmt::format("rank {}: {}", rank_, what));
}

void SimulatedRank::expect(bool holds, std::string_view what) {
  if (!holds) {
    violate(what);
  }
}

bool SimulatedRank::proceed(const Status& status, std::string_view what) {
  if (status.ok()) {
    return true;
  }
  const auto& refusal = status.refusal();
  if (extras_.faults == nullptr) {
    violate(fmt::format("{}: {}", what, refusal.message()));
  } else if (verdict_.code.empty()) {
    verdict_.code = refusal.code;
    verdict_.message = fmt::format("{}: {}", what, refusal.message());
    // As the engine's worker does: peers leave their waits with this name.
    world_->failure_signal().raise(
        Failure{refusal.code, rank_, -1, std::string(what), refusal.what});
  }
  return false;
}

void SimulatedRank::make_device(const platform::sim::CostModel& costs) {
  auto device = std::make_unique<SimDevice>(
      kernel_,
      platform::sim::SimDeviceSettings{
          .rank = rank_, .budgets = {}, .costs = &costs, .trace = extras_.trace},
      world_->failure_signal());
  simulator_ = device.get();
  fabric_.attach(rank_, simulator_);
  device_ = std::move(device);
  if (injector_ != nullptr) {
    device_ = std::make_unique<platform::FaultingDevice>(std::move(device_), *injector_);
  }
  if (extras_.decorate) {
    device_ = extras_.decorate(std::move(device_), rank_);
  }
  device_ = std::make_unique<telemetry::LedgerDevice>(std::move(device_), ledger_);
}

bool SimulatedRank::make_group() {
  if (config_.dp_size <= 1) {
    return true;
  }
  std::vector<int> ranks(simulated_.ranks);
  std::iota(ranks.begin(), ranks.end(), 0);
  auto control = world_->make_control_group(ranks, "weight control", deadline());
  if (!control.ok()) {
    return proceed(control.refusal(), "control group");
  }
  control_ = std::move(control).value();
  auto communicator = world_->make_communicator(ranks, "weights", deadline(), kTimeout);
  if (!communicator.ok()) {
    return proceed(communicator.refusal(), "communicator");
  }
  communicator_ =
      std::make_unique<telemetry::LedgerCommunicator>(std::move(communicator).value(), ledger_);
  return true;
}

void SimulatedRank::serve() {
  const auto context =
      make_rank_context(rank_, static_cast<int>(simulated_.ranks), world_->failure_signal());
  backend::OffloadBackend backend(backend::BackendRequest{
      .config = config_,
      .table = model_.table(),
      .host_tensors = *tensors_,
      .device = *device_,
      .context = context,
      .weight_control = control_.get(),
      .weight_communicator = communicator_.get(),
      .weight_axis = control_ ? backend::GroupAxis::kData : backend::GroupAxis::kNone,
      .offload_plan = &offload_plan_,
      .pack_workers = pack_workers(),
      .timeout = kTimeout});
  if (proceed(backend.enable(), "enable()")) {
    try {
      walk_all(backend);
    } catch (const RunError& error) {
      proceed(error.refusal(), "a forward");
    }
    const auto now = device_->clock().now();
    proceed(device_->synchronize(Deadline::after(now, kTimeout)), "synchronize");
    judge(backend);
  }
  for (const auto& problem : backend.disable()) {
    expect(extras_.faults != nullptr, "disable(): " + problem);
    verdict_.message += verdict_.message.empty() ? problem : "; then: " + problem;
  }
  if (backend.abandoned_buffers()) {
    verdict_.abandoned_buffers = true;
    // It waited as long as it may, by its clock, and ends under that name.
    verdict_.code = verdict_.code.empty() ? std::string(codes::kDeadlineExceeded) : verdict_.code;
  }
}

platform::Executor* SimulatedRank::pack_workers() {
  platform::Executor* const faulting = pack_workers_ ? &*pack_workers_ : nullptr;
  return faulting != nullptr ? faulting : &packer_;
}

void SimulatedRank::walk_all(backend::OffloadBackend& backend) {
  for (std::uint32_t request = 0; request < simulated_.requests; ++request) {
    if (!proceed(backend.begin_request(), "begin_request()")) {
      return;
    }
    for (std::uint32_t walk = 0; walk < simulated_.walks_per_request; ++walk) {
      for (const auto ring : simulated_.walk_order()) {
        walk_ring(ring, backend.observer(ring));
      }
    }
    if (!proceed(backend.end_request(), "end_request()")) {
      return;
    }
  }
}

void SimulatedRank::walk_ring(std::size_t ring, contracts::BlockObserver* observer) {
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

void SimulatedRank::judge(const backend::OffloadBackend& backend) {
  expect(model_.findings().clean(), "compute read wrong bytes: " + model_.findings().first);
  const auto& plan = backend.memory_plan();
  expect(device_->device_memory().peak_bytes <= plan.device_limit_bytes(),
         "device memory exceeds its limit");
  expect(device_->pinned_memory().peak_bytes <= plan.pinned_bytes(),
         "pinned memory exceeds what was promised");
  if (!simulated_.skip_blocks && verdict_.code.empty()) {
    judge_traffic(backend);
    // Rings that do not take turns on the slots find what was loaded for them, on every forward.
    const bool alone = simulated_.children || simulated_.ring_blocks.size() == 1;
    expect(!alone || backend.repair_count() == 0,
           fmt::format("{} repairs of forwards in order", backend.repair_count()));
  }
}

void SimulatedRank::judge_traffic(const backend::OffloadBackend& backend) {
  const std::uint64_t walks = simulated_.requests * simulated_.walks_per_request;
  const auto planned =
      backend.planned_traffic(std::vector<std::uint64_t>(simulated_.ring_blocks.size(), walks));
  const auto h2d = ledger_.at(Site::kH2d);
  const auto gather = ledger_.at(Site::kGather);
  expect(h2d.bytes == planned.h2d_bytes && h2d.calls == planned.h2d_calls,
         fmt::format("{} H2D bytes in {} calls, planned {} in {}", h2d.bytes, h2d.calls,
                     planned.h2d_bytes, planned.h2d_calls));
  expect(gather.bytes == planned.gather_bytes && gather.calls == planned.gather_calls,
         fmt::format("{} gathered bytes in {} calls, planned {} in {}", gather.bytes, gather.calls,
                     planned.gather_bytes, planned.gather_calls));
}

void SimulatedRank::tear_down() {
  expect(model_.untouched(), "a block still has a place after disable()");
  const bool left = simulator_->live_buffer_count() > 0;
  expect(left == verdict_.abandoned_buffers,
         left ? "buffers are left after disable()" : "buffers given up on purpose are gone");
  fabric_.attach(rank_, nullptr);
  device_.reset();
}

Deadline SimulatedRank::deadline() const {
  return Deadline::after(kernel_.now(), kTimeout);
}

}  // namespace dlo::engine
