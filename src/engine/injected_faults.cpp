#include "engine/injected_faults.h"

#include <utility>

#include "comm/fault/faulting_world.h"
#include "comm/fault/slow_gather_world.h"
#include "platform/fault/crash_device.h"
#include "platform/fault/faulting_device.h"
#include "platform/fault/pin_fails_device.h"
#include "platform/fault/slow_copy_device.h"
#include "platform/posix/self_signal.h"

namespace dlo::engine {

namespace {

// Another layout of every block, as from another build or another option.
constexpr std::uint64_t kOtherChunkBytes = 4096;

platform::SelfSignal signal_of(platform::CrashKind kind) {
  return kind == platform::CrashKind::kDies ? platform::SelfSignal::kKill
                                            : platform::SelfSignal::kStop;
}

platform::CrashActions crash_actions(std::function<void()> before) {
  return {
      .before = std::move(before),
      .end = [](platform::CrashKind kind) { platform::signal_self(signal_of(kind)); },
      .end_after = [](platform::CrashKind kind,
                      Nanoseconds delay) { platform::signal_self_after(signal_of(kind), delay); }};
}

}  // namespace

InjectedFaults::InjectedFaults(const PlatformSpec& spec, comm::World& world,
                               platform::FileSystem& files, platform::Clock& clock,
                               std::function<void()> before_crash)
    : spec_(&spec),
      rank_(world.rank()),
      before_crash_(std::move(before_crash)),
      injector_(spec.faults, world.rank()),
      files_(files, injector_,
             {.clock = &clock, .delay = static_cast<Nanoseconds>(spec.slow_file_ns)}),
      world_(&world) {
  if (spec.slow_gather_ns > 0 && spec.slow_gather_on_rank.value_or(rank_) == rank_) {
    slow_world_ =
        comm::make_slow_gather_world(*world_, static_cast<Nanoseconds>(spec.slow_gather_ns));
    world_ = slow_world_.get();
  }
  if (!spec.faults.rules.empty()) {
    faulting_world_ = comm::make_faulting_world(*world_, injector_);
    world_ = faulting_world_.get();
  }
}

std::unique_ptr<platform::Device> InjectedFaults::decorate(
    std::unique_ptr<platform::Device> device) {
  if (spec_->pin_fails_on_rank == rank_) {
    device = std::make_unique<platform::PinFailsDevice>(std::move(device), 0);
  }
  if (spec_->slow_copy_ns > 0 && spec_->slow_copy_on_rank.value_or(rank_) == rank_) {
    device = std::make_unique<platform::SlowCopyDevice>(
        std::move(device), static_cast<Nanoseconds>(spec_->slow_copy_ns));
  }
  if (!spec_->faults.rules.empty()) {
    device = std::make_unique<platform::FaultingDevice>(std::move(device), injector_);
  }
  if (spec_->crash.has_value()) {
    device = std::make_unique<platform::CrashDevice>(std::move(device), *spec_->crash, rank_,
                                                     crash_actions(before_crash_));
  }
  return device;
}

config::OffloadConfig InjectedFaults::adjust(config::OffloadConfig config) const {
  if (spec_->schedule_differs_on_rank == rank_) {
    config.chunk_bytes =
        config.chunk_bytes == kOtherChunkBytes ? 2 * kOtherChunkBytes : kOtherChunkBytes;
  }
  return config;
}

}  // namespace dlo::engine
