// Owns: MutantDevice, the decorator behind the mutation proof: operations that a predicate on the
// label picks are dropped, or copied with one wrong byte. Test-only.
// Must not own: which mutants there are; tests say so with predicates.
// Threading: as the device below; predicates run on the issuing thread. Counts what it changed, so
// that a test can tell a mutant that survived from one that never acted.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "platform/forwarding_device.h"

namespace dlo::test_support {

using LabelPredicate = std::function<bool(const platform::OpLabel&)>;

struct Mutation {
  LabelPredicate skip_wait;     // waits that are dropped
  LabelPredicate skip_record;   // records that are dropped
  LabelPredicate corrupt_copy;  // host-to-device copies whose first byte is flipped
};

class MutantDevice : public platform::ForwardingDevice {
 public:
  MutantDevice(std::unique_ptr<platform::Device> inner, Mutation mutation)
      : ForwardingDevice(std::move(inner)), mutation_(std::move(mutation)) {}

  void record(platform::EventId event, platform::StreamKind stream,
              const platform::OpLabel& label) override {
    if (!picks(mutation_.skip_record, label)) {
      ForwardingDevice::record(event, stream, label);
    }
  }

  void wait(platform::StreamKind stream, platform::EventId event,
            const platform::OpLabel& label) override {
    if (!picks(mutation_.skip_wait, label)) {
      ForwardingDevice::wait(stream, event, label);
    }
  }

  void copy_to_device(platform::StreamKind stream, DeviceSpan destination, ConstByteSpan source,
                      const platform::OpLabel& label) override {
    if (destination.bytes == 0 || !picks(mutation_.corrupt_copy, label)) {
      ForwardingDevice::copy_to_device(stream, destination, source, label);
      return;
    }
    // A source of its own, kept until the device goes: device memory may be out of reach.
    auto wrong = inner().allocate_pageable(source.size(), platform::MemoryPurpose::kOther).value();
    std::memcpy(wrong->span().data(), source.data(), source.size());
    wrong->span().front() ^= std::byte{0xFF};
    ForwardingDevice::copy_to_device(stream, destination, wrong->span(), label);
    wrong_sources_.push_back(std::move(wrong));
  }

  [[nodiscard]] std::size_t mutated() const { return mutated_; }

 private:
  bool picks(const LabelPredicate& predicate, const platform::OpLabel& label) {
    const bool picked = predicate && predicate(label);
    mutated_ += picked ? 1 : 0;
    return picked;
  }

  Mutation mutation_;
  std::vector<std::unique_ptr<platform::HostBuffer>> wrong_sources_;
  std::size_t mutated_ = 0;
};

}  // namespace dlo::test_support
