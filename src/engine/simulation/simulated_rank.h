// Owns: SimulatedRank, what one rank of a simulated run does from set-up to the last oracle.
// Must not own: the kernel, the choice of cases, the comparison between ranks (simulated_run.cpp).
// Threading: the rank's thread, under the kernel's baton.
#pragma once

#include <bit>
#include <memory>
#include <string>
#include <string_view>

#include "backend/offload_backend.h"
#include "base/seeded_random.h"
#include "comm/sim/sim_world.h"
#include "engine/simulation/simulated_run.h"
#include "platform/fault/faulting_executor.h"
#include "platform/sim/sim_device.h"
#include "synthetic/synthetic_mapping.h"
#include "synthetic/synthetic_model.h"
#include "synthetic/synthetic_weights.h"
#include "telemetry/copy_ledger.h"

namespace dlo::engine {

// Runs every task on the calling thread: the pack stream's, whose time is simulated as a whole. One
// half of a batch when it is started, as workers would that are quick, and the rest when it is
// finished; a single task now there and now here, in a sequence that no ring repeats. It says two,
// as if another thread ran the first half, so that staged loads work ahead where their ring allows.
class InlineExecutor final : public platform::Executor {
 public:
  [[nodiscard]] std::size_t worker_count() const override { return 2; }
  void start(platform::Batch& batch) override {
    batch.books = {};
    const bool more_early = std::popcount(started_++) % 2 == 1;  // Thue-Morse
    batch.run_below((batch.count + (more_early ? 1U : 0U)) / 2);
  }
  void finish(platform::Batch& batch) override {
    batch.run_below(batch.count);
    batch.rethrow();
  }

 private:
  std::uint32_t started_ = 0;
};

class SimulatedRank {
 public:
  // Everything passed outlives the rank.
  SimulatedRank(platform::sim::SimKernel& kernel, comm::SimFabric& fabric,
                const SimulatedCase& simulated, const SimulatedExtras& extras, int rank);

  // Runs everything; broken oracles go to the kernel.
  [[nodiscard]] RankVerdict run(const platform::sim::CostModel& costs);

 private:
  // A broken oracle.
  void violate(std::string_view what);
  void expect(bool holds, std::string_view what);
  // A refusal: an ending in a run with faults, a broken oracle without. True when ok.
  bool proceed(const Status& status, std::string_view what);

  void make_device(const platform::sim::CostModel& costs);
  [[nodiscard]] bool make_group();
  void serve();
  [[nodiscard]] platform::Executor* pack_workers();
  void walk_all(backend::OffloadBackend& backend);
  void walk_ring(std::size_t ring, contracts::BlockObserver* observer);
  void judge(const backend::OffloadBackend& backend);
  void judge_traffic(const backend::OffloadBackend& backend);
  void tear_down();
  [[nodiscard]] Deadline deadline() const;

  platform::sim::SimKernel& kernel_;
  comm::SimFabric& fabric_;
  const SimulatedCase& simulated_;
  const SimulatedExtras& extras_;
  int rank_;
  RankVerdict verdict_;
  std::unique_ptr<platform::FaultInjector> injector_;  // with faults only
  std::unique_ptr<comm::World> base_world_;
  std::unique_ptr<comm::World> faulting_world_;
  comm::World* world_;
  synthetic::SyntheticModel model_;
  std::unique_ptr<contracts::HostTensors> tensors_;
  contracts::OffloadPlan offload_plan_;
  InlineExecutor packer_;
  std::optional<platform::FaultingExecutor> pack_workers_;  // with faults only
  config::OffloadConfig config_;
  SeededRandom choices_;  // equal on all ranks: they run the same blocks
  telemetry::CopyLedger ledger_;
  platform::sim::SimDevice* simulator_ = nullptr;  // below the decorators of device_
  std::unique_ptr<platform::Device> device_;
  std::unique_ptr<comm::ControlGroup> control_;
  std::unique_ptr<comm::Communicator> communicator_;
};

}  // namespace dlo::engine
