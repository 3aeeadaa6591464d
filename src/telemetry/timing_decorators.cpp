#include "telemetry/timing_decorators.h"

namespace dlo::telemetry {

using platform::OpLabel;
using platform::Site;
using platform::StreamKind;
using Kind = BlockTiming::Kind;

namespace {

bool of_timed_ring(const OpLabel& label) {
  return label.ring == BlockTiming::kTimedRing;
}

}  // namespace

void TimingDevice::wait(StreamKind stream, platform::EventId event, const OpLabel& label) {
  if (!timing_->on() || label.site != Site::kReadyWait || !of_timed_ring(label)) {
    inner().wait(stream, event, label);
    return;
  }
  const auto entry = timing_->open(Kind::kReadyWait, stream, label);
  inner().wait(stream, event, label);
  timing_->close(entry);
}

void TimingDevice::copy_to_device(StreamKind stream, DeviceSpan destination, ConstByteSpan source,
                                  const OpLabel& label) {
  if (!timing_->on() || label.site != Site::kH2d) {
    inner().copy_to_device(stream, destination, source, label);
    return;
  }
  const auto entry = timing_->open(Kind::kH2d, stream, label, source.size());
  inner().copy_to_device(stream, destination, source, label);
  timing_->close(entry);
}

void TimingDevice::launch(StreamKind stream, platform::StreamTask task, const OpLabel& label) {
  const bool of_block = label.site == Site::kCompute && of_timed_ring(label);
  if (!timing_->on() || (label.site != Site::kCompute && label.site != Site::kModel)) {
    inner().launch(stream, std::move(task), label);
    return;
  }
  const auto entry = timing_->open(of_block ? Kind::kCompute : Kind::kOther, stream, label);
  const Nanoseconds begin = timing_->host_now();
  inner().launch(stream, std::move(task), label);
  if (of_block) {
    timing_->add_host(BlockTiming::HostSpan::kLaunch, label.block, begin);
  }
  timing_->close(entry);
}

void TimingDevice::launch_host(StreamKind stream, platform::StreamTask task, const OpLabel& label) {
  if (!timing_->on() || label.site != Site::kPack) {
    inner().launch_host(stream, std::move(task), label);
    return;
  }
  const auto entry = timing_->open(Kind::kPack, stream, label);
  inner().launch_host(stream, std::move(task), label);
  timing_->close(entry);
}

void TimingCommunicator::all_gather(platform::Device& device, StreamKind stream, DeviceSpan input,
                                    DeviceSpan output, const OpLabel& label) {
  if (!timing_->on()) {
    inner().all_gather(device, stream, input, output, label);
    return;
  }
  const auto entry = timing_->open(Kind::kGather, stream, label, output.bytes);
  inner().all_gather(device, stream, input, output, label);
  timing_->close(entry);
}

}  // namespace dlo::telemetry
