#include "engine/simulation/predicted_rank.h"

#include <fmt/format.h>

#include <numeric>
#include <string>

#include "backend/offload_backend.h"
#include "synthetic/synthetic_model.h"
#include "synthetic/synthetic_weights.h"

namespace dlo::engine {

using platform::OpLabel;
using platform::Site;
using platform::StreamKind;
using platform::sim::SimDevice;

namespace {

// Virtual; longer than any forward.
constexpr Nanoseconds kTimeout = 1'000'000 * kSecond;

void require_ok(const Status& status, std::string_view what) {
  if (!status.ok()) {
    throw RunError(refuse(status.refusal().code, status.refusal().what, std::string(what),
                          "this is a bug of the prediction"));
  }
}

}  // namespace

PredictedRank::PredictedRank(platform::sim::SimKernel& kernel, comm::SimFabric& fabric,
                             const PredictedCase& predicted, const platform::sim::CostModel& costs,
                             std::vector<platform::sim::SimTraceRow>* trace, int rank)
    : kernel_(kernel),
      fabric_(fabric),
      predicted_(predicted),
      rank_(rank),
      world_(comm::make_sim_world(fabric, rank)),
      device_(std::make_unique<SimDevice>(
          kernel,
          platform::sim::SimDeviceSettings{
              .rank = rank, .budgets = {}, .costs = &costs, .trace = trace},
          world_->failure_signal())) {
  fabric_.attach(rank_, device_.get());
}

Deadline PredictedRank::deadline() const {
  return Deadline::after(kernel_.now(), kTimeout);
}

void PredictedRank::make_group() {
  if (predicted_.config.dp_size <= 1) {
    return;
  }
  std::vector<int> ranks(predicted_.config.dp_size);
  std::iota(ranks.begin(), ranks.end(), 0);
  control_ = world_->make_control_group(ranks, "weight control", deadline()).value();
  communicator_ = world_->make_communicator(ranks, "weights", deadline(), kTimeout).value();
}

PredictedTimes PredictedRank::run() {
  make_group();
  synthetic::SyntheticModel model(predicted_.shape);
  synthetic::SyntheticTensors tensors(model.table(), model.seed());
  const auto context = make_rank_context(rank_, kernel_.rank_count(), world_->failure_signal());
  backend::OffloadBackend backend(backend::BackendRequest{
      .config = predicted_.config,
      .table = model.table(),
      .host_tensors = tensors,
      .device = *device_,
      .context = context,
      .weight_control = control_.get(),
      .weight_communicator = communicator_.get(),
      .weight_axis = control_ ? backend::GroupAxis::kData : backend::GroupAxis::kNone,
      .timeout = kTimeout});
  require_ok(backend.enable(), "enable()");
  const platform::EventId done = device_->create_event();
  const OpLabel label{Site::kOutput, 0, -1, -1, -1};
  PredictedTimes times;
  for (std::uint32_t forward = 0; forward < predicted_.forwards; ++forward) {
    const Nanoseconds begin = kernel_.now();
    model.run(*device_, 0, backend.observer(0));
    device_->record(done, StreamKind::kCompute, label);
    times.host_ns.push_back(kernel_.now() - begin);
    // As a request does: the output is waited for, the tail prefetch is not.
    require_ok(device_->wait_host(done, deadline(), label), "a forward");
    times.end.push_back(kernel_.now());
  }
  require_ok(backend.end_request(), "end_request()");
  const auto problems = backend.disable();
  require(problems.empty() && model.findings().clean(),
          "a prediction computed wrong bytes or did not end cleanly");
  fabric_.attach(rank_, nullptr);
  return times;
}

}  // namespace dlo::engine
