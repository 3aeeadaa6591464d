#include "engine/throughput_run.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <numeric>

#include "base/thrown_refusal.h"
#include "contracts/block_layout.h"
#include "engine/calibration_run.h"
#include "engine/rate_watch.h"
#include "engine/throughput_arm.h"
#include "engine/throughput_prediction.h"
#include "telemetry/paired_comparison.h"

namespace dlo::engine {

namespace {

// A turn is several waits of a peer.
constexpr Nanoseconds kMeetTimeoutFactor = 20;
// Forwards of a turn that are not timed, one at each end.
constexpr std::uint32_t kUntimedForwards = 2;
constexpr int kBaselineTraces = 3;

class ThroughputRun {
 public:
  ThroughputRun(const RunEnvironment& environment, const RunRequest& request,
                const comm::Topology& topology)
      : environment_(environment),
        request_(request),
        spec_(*request.throughput),
        topology_(topology),
        timeout_(static_cast<Nanoseconds>(request.platform.wait_timeout_s *
                                          static_cast<double>(kSecond))),
        ranks_(static_cast<std::size_t>(topology.size())) {
    std::iota(ranks_.begin(), ranks_.end(), 0);
  }

  // Runs, reads the figures, shuts every arm down, whatever became of it.
  ThroughputEnding run();

 private:
  struct Arm {
    std::size_t instance = 0;
    ArmMeasurement measured;
  };

  Status go();
  // What `work` throws outside an arm's guard is a refusal that the peers hear of too.
  Status guarded(const std::function<Status()>& work);
  std::shared_ptr<const ThroughputReport> take_report();
  Status make_control();
  Status start_arms();
  Status start_instance(ThroughputArm& instance);
  Status calibrate_machine();
  Status warm_up();
  void predict_arms();
  // Why no arm is predicted; null when all are.
  [[nodiscard]] const char* unpredictable();
  Status run_rounds();
  // Adds the rates of this moment to the calibration; the first call makes `watch`.
  Status sample_rates(std::unique_ptr<RateWatch>& watch);
  Status run_turn(Arm& arm, std::uint32_t round);
  Status check_arms();
  Status trace_arms();

  // All ranks have got here with `mine`, or all leave with the first refusal.
  Status meet(std::string_view where, const Status& mine = {});
  [[nodiscard]] ThroughputArm& instance_of(const Arm& arm) { return *instances_[arm.instance]; }
  // The instance whose streams and communicator the calibration uses.
  [[nodiscard]] ThroughputArm& calibrated_instance();

  const RunEnvironment& environment_;
  const RunRequest& request_;
  const ThroughputSpec& spec_;
  comm::Topology topology_;
  Nanoseconds timeout_;
  std::vector<int> ranks_;
  platform::SteadyClock clock_;
  std::unique_ptr<comm::ControlGroup> control_;
  std::vector<std::unique_ptr<ThroughputArm>> instances_;
  SharedTensors tensors_;  // goes before the device that it came from
  std::vector<Arm> arms_;
  std::vector<std::byte> wanted_;  // the baseline's output
  telemetry::ForwardTiming baseline_;
  double launch_us_ = 0;  // host time of a block's launch in the baseline
  MachineCalibration machine_;
};

Status ThroughputRun::meet(std::string_view where, const Status& mine) {
  return comm::vote(*control_, where, mine,
                    Deadline::after(clock_.now(), kMeetTimeoutFactor * timeout_));
}

Status ThroughputRun::make_control() {
  auto made = environment_.world->make_control_group(ranks_, "throughput",
                                                     Deadline::after(clock_.now(), timeout_));
  if (!made.ok()) {
    return made.refusal();
  }
  control_ = std::move(made).value();
  return {};
}

Status ThroughputRun::start_instance(ThroughputArm& instance) {
  const Status started = instance.start(spec_.timestep);
  // A worker watches those that share its weights; here every rank keeps step with all.
  environment_.world->watch_failures_of(ranks_);
  return meet("arm start", started);
}

Status ThroughputRun::start_arms() {
  for (const auto& spec : spec_.arms) {
    const auto same = std::find_if(instances_.begin(), instances_.end(), [&](const auto& instance) {
      return instance->options() == spec.options;
    });
    Arm arm;
    arm.instance = static_cast<std::size_t>(same - instances_.begin());
    arm.measured.name = spec.name;
    arm.measured.forward_ms.resize(spec_.rounds);
    arm.measured.counters.nvlink_received_bytes = 0;  // the sum of no turns
    arm.measured.counters.energy_mj = 0;
    arm.measured.counters.energy_ns = 0;
    arms_.push_back(std::move(arm));
    if (same == instances_.end()) {
      instances_.push_back(std::make_unique<ThroughputArm>(environment_, request_, spec.options,
                                                           topology_, tensors_));
      if (auto status = start_instance(*instances_.back()); !status.ok()) {
        return status;
      }
    }
  }
  tensors_.ordinary.reset();
  return {};
}

ThroughputArm& ThroughputRun::calibrated_instance() {
  const auto gathers = std::find_if(instances_.begin(), instances_.end(), [](const auto& instance) {
    return instance->parts().weight_communicator != nullptr;
  });
  return gathers != instances_.end() ? **gathers : *instances_.back();
}

Status ThroughputRun::calibrate_machine() {
  if (!spec_.calibrate) {
    return {};
  }
  auto& instance = calibrated_instance();
  const auto parts = instance.parts();
  const auto blocks = instance.block_bytes();
  const auto largest = *std::max_element(blocks.begin(), blocks.end());
  const int group = parts.weight_communicator != nullptr ? parts.weight_communicator->size() : 1;
  const contracts::ShardLayout shard(largest, static_cast<std::uint32_t>(group), 0);
  return instance.worker().guard("calibration", [&]() -> Status {
    auto machine = calibrate(
        {parts.device, parts.weight_communicator, *control_, kMeetTimeoutFactor * timeout_},
        {.block_bytes = shard.padded_bytes(),
         .piece_bytes = shard.shard_bytes(),
         .gemm_size = spec_.gemm_size,
         .gemm_dtype = request_.model.runtime_dtype,
         .pack_threads = most_pack_threads(instances_)});
    if (!machine.ok()) {
      return machine.refusal();
    }
    machine_ = std::move(machine).value();
    return {};
  });
}

Status ThroughputRun::warm_up() {
  for (auto& instance : instances_) {
    std::vector<double> unused;
    // The untimed forwards of a turn are warm-ups all the same.
    const auto timed = std::max(spec_.warmups, kUntimedForwards) - kUntimedForwards;
    if (auto status = meet("warm-up", instance->turn(timed, unused)); !status.ok()) {
      return status;
    }
  }
  wanted_ = instances_.front()->output();
  std::vector<double> launch_us;  // medians over the blocks of each trace
  for (int i = 0; i < kBaselineTraces; ++i) {
    if (auto met = meet("baseline trace", instances_.front()->trace(baseline_)); !met.ok()) {
      return met;
    }
    std::vector<double> of_blocks;
    for (const auto& block : baseline_.blocks) {
      of_blocks.push_back(block.launch_us);
    }
    launch_us.push_back(telemetry::median_of(of_blocks));
  }
  launch_us_ = telemetry::median_of(launch_us);
  return {};
}

const char* ThroughputRun::unpredictable() {
  if (machine_.figures.empty()) {
    return "not calibrated";
  }
  const auto& first = instances_.front()->worker().report().effective;
  return first.transfer == contracts::Transfer::kResident
             ? nullptr
             : "the first arm is not resident: no compute times";
}

void ThroughputRun::predict_arms() {
  const auto block_bytes = instances_.front()->block_bytes();
  const auto ranks = static_cast<std::uint32_t>(ranks_.size());
  for (auto& arm : arms_) {
    if (const auto* reason = unpredictable()) {
      arm.measured.prediction_note = reason;
      continue;
    }
    const auto to_predict = instance_of(arm).to_predict();
    const auto calibration = calibration_of_run(machine_, ranks, to_predict.effective, launch_us_);
    const auto predicted =
        predict_forward_ms(calibration, ranks, to_predict, baseline_, block_bytes);
    if (predicted.ok()) {
      arm.measured.predicted_ms = *predicted;
      arm.measured.prediction_note = "this run's calibration and a traced forward of " +
                                     arms_.front().measured.name + ", before the rounds";
    } else {
      arm.measured.prediction_note = predicted.refusal().message();
    }
  }
}

Status ThroughputRun::run_turn(Arm& arm, std::uint32_t round) {
  if (auto status = meet("turn"); !status.ok()) {
    return status;
  }
  auto& worker = instance_of(arm).worker();
  worker.reset_peaks();
  const auto before = worker.counters();
  auto& samples = arm.measured.forward_ms[round];
  if (auto status = instance_of(arm).turn(spec_.forwards, samples); !status.ok()) {
    return status;
  }
  arm.measured.counters = accumulate(arm.measured.counters, before, worker.counters());
  arm.measured.counted_forwards += spec_.forwards + kUntimedForwards;
  ++arm.measured.compared_forwards;
  arm.measured.different_forwards += instance_of(arm).output() == wanted_ ? 0U : 1U;
  return {};
}

Status ThroughputRun::sample_rates(std::unique_ptr<RateWatch>& watch) {
  if (!spec_.calibrate) {
    return {};
  }
  auto& worker = calibrated_instance().worker();
  return worker.guard("rates", [&] {
    return RateWatch::sample(
        {worker.parts().device, nullptr, *control_, kMeetTimeoutFactor * timeout_}, watch,
        machine_);
  });
}

Status ThroughputRun::run_rounds() {
  const auto arm_count = static_cast<std::uint32_t>(arms_.size());
  std::unique_ptr<RateWatch> watch;
  for (std::uint32_t round = 0; round < spec_.rounds; ++round) {
    if (auto status = sample_rates(watch); !status.ok()) {
      return status;
    }
    for (const auto index : telemetry::arm_order(request_.requests.seed, round, arm_count)) {
      if (auto status = run_turn(arms_[index], round); !status.ok()) {
        return status;
      }
    }
  }
  const auto status = sample_rates(watch);
  return status.ok() ? meet("rounds") : status;
}

Status ThroughputRun::check_arms() {
  const auto count = spec_.check_every_forward;
  std::vector<bool> done(instances_.size(), count == 0);
  for (auto& arm : arms_) {
    if (done[arm.instance]) {
      continue;
    }
    done[arm.instance] = true;
    arm.measured.compared_forwards += count;
    const Status status = instance_of(arm).check(count, wanted_, arm.measured.different_forwards);
    if (auto met = meet("checked forwards", status); !met.ok()) {
      return met;
    }
  }
  return {};
}

Status ThroughputRun::trace_arms() {
  for (auto& arm : arms_) {
    std::vector<telemetry::ForwardTiming> forwards;
    for (std::uint32_t i = 0; i < spec_.traced_forwards; ++i) {
      telemetry::ForwardTiming timing;
      if (auto met = meet("traced forward", instance_of(arm).trace(timing)); !met.ok()) {
        return met;
      }
      forwards.push_back(std::move(timing));
    }
    if (!forwards.empty()) {
      arm.measured.blocks = telemetry::summarise(forwards);
      arm.measured.trace = std::move(forwards.back().timeline);
    }
  }
  return {};
}

Status ThroughputRun::go() {
  using Step = Status (ThroughputRun::*)();
  for (const Step step : {&ThroughputRun::make_control, &ThroughputRun::start_arms,
                          &ThroughputRun::calibrate_machine, &ThroughputRun::warm_up}) {
    if (auto status = (this->*step)(); !status.ok()) {
      return status;
    }
  }
  predict_arms();
  for (const Step step :
       {&ThroughputRun::run_rounds, &ThroughputRun::check_arms, &ThroughputRun::trace_arms}) {
    if (auto status = (this->*step)(); !status.ok()) {
      return status;
    }
  }
  return {};
}

std::shared_ptr<const ThroughputReport> ThroughputRun::take_report() {
  auto report = std::make_shared<ThroughputReport>();
  report->calibration = std::move(machine_);
  for (auto& arm : arms_) {
    instance_of(arm).measure(arm.measured);
    report->arms.push_back(std::move(arm.measured));
  }
  return report;
}

Status ThroughputRun::guarded(const std::function<Status()>& work) {
  try {
    return work();
  } catch (...) {
    constexpr const char* kOperation = "throughput run";
    const auto refusal = thrown_refusal(std::current_exception(), kOperation);
    auto& world = *environment_.world;
    world.failure_signal().raise({refusal.code, world.rank(), -1, kOperation, refusal.what});
    return refusal;
  }
}

ThroughputEnding ThroughputRun::run() {
  ThroughputEnding ending;
  ending.report.rank = environment_.world->rank();
  std::shared_ptr<const ThroughputReport> throughput;
  const Status ran = guarded([this] { return go(); });
  const Status measured = guarded([&]() -> Status {
    for (auto& instance : instances_) {
      instance->worker().measure();
    }
    throughput = ran.ok() ? take_report() : nullptr;
    return {};
  });
  const Status& status = ran.ok() ? measured : ran;
  ending.status = status;
  tensors_.ordinary.reset();
  for (auto at = instances_.rbegin(); at != instances_.rend(); ++at) {
    auto& worker = (*at)->worker();
    worker.shutdown();
    telemetry::add_resources(worker.left_on_device(), ending.left);
    ending.report = worker.report();  // the first arm's at the end
    if (ending.report.abandoned_buffers) {
      leave_to_process(std::move(tensors_.mapped));
    }
  }
  tensors_.mapped.reset();
  ending.report.throughput = throughput;
  const auto coordinates = comm::coordinates_of(topology_, environment_.world->rank());
  if (throughput && coordinates.sp == 0 && coordinates.tp == 0) {
    const auto& baseline = throughput->arms.front();
    ending.report.outputs = {{static_cast<std::uint32_t>(coordinates.dp), baseline.output_sha256}};
    for (const auto& round : baseline.forward_ms) {
      ending.report.forward_ms.insert(ending.report.forward_ms.end(), round.begin(), round.end());
    }
  }
  if (!status.ok() && ending.report.code.empty()) {
    ending.report.code = status.refusal().code;
    ending.report.message = status.refusal().message();
  }
  return ending;
}

}  // namespace

ThroughputEnding run_throughput(const RunEnvironment& environment, const RunRequest& request,
                                const comm::Topology& topology) {
  return ThroughputRun(environment, request, topology).run();
}

}  // namespace dlo::engine
