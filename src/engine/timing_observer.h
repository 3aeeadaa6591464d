// Owns: TimingObserver, the decorator over a backend's observer that tells a BlockTiming how long
// the host spends in it: what offloading adds to the launching thread's work.
// Must not own: what is made of it. Off, it costs one branch a call. Threading and failure: those
// of the observer below; both outlive it.
#pragma once

#include "contracts/block_observer.h"
#include "telemetry/block_timing.h"

namespace dlo::engine {

class TimingObserver final : public contracts::BlockObserver {
 public:
  TimingObserver(contracts::BlockObserver& inner, telemetry::BlockTiming& timing)
      : inner_(inner), timing_(timing) {}

  void before_block(std::uint32_t block) override {
    if (!timing_.on()) {
      inner_.before_block(block);
      return;
    }
    const Nanoseconds begin = timing_.host_now();
    inner_.before_block(block);
    timing_.add_host(telemetry::BlockTiming::HostSpan::kOffload, static_cast<std::int32_t>(block),
                     begin);
  }

  void after_block(std::uint32_t block) override {
    if (!timing_.on()) {
      inner_.after_block(block);
      return;
    }
    const Nanoseconds begin = timing_.host_now();
    inner_.after_block(block);
    timing_.add_host(telemetry::BlockTiming::HostSpan::kOffload, static_cast<std::int32_t>(block),
                     begin);
  }

 private:
  contracts::BlockObserver& inner_;
  telemetry::BlockTiming& timing_;
};

}  // namespace dlo::engine
