// Owns: CopyLedger, how many operations and bytes each site of the protocol issued on each stream,
// and the two decorators that keep it: one over a Device, one over a Communicator.
// Must not own: the plan that it is held against (backend/traffic_plan.h), timing.
// Threading: entered by the launching thread; read by it too. Allocates nothing after construction.
// What is counted: copies to and from the device by their label's site (kOutput and, where
// gathers go through host memory, kGatherStaging are those from it); gathers by the bytes received
// from peers, (W-1)/W of the output, which is what crosses the links.
#pragma once

#include <array>
#include <memory>

#include "comm/forwarding_communicator.h"
#include "platform/forwarding_device.h"

namespace dlo::telemetry {

struct LedgerEntry {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;

  friend bool operator==(const LedgerEntry&, const LedgerEntry&) = default;
};

class CopyLedger {
 public:
  void add(platform::Site site, platform::StreamKind stream, std::uint64_t bytes);
  // Over all streams.
  [[nodiscard]] LedgerEntry at(platform::Site site) const;
  [[nodiscard]] LedgerEntry at(platform::Site site, platform::StreamKind stream) const;

 private:
  static constexpr std::size_t kSiteCount = static_cast<std::size_t>(platform::Site::kDrain) + 1;

  std::array<std::array<LedgerEntry, platform::kStreamCount>, kSiteCount> entries_{};
};

// Enters every copy. The ledger outlives the decorator.
class LedgerDevice : public platform::ForwardingDevice {
 public:
  LedgerDevice(std::unique_ptr<platform::Device> inner, CopyLedger& ledger)
      : ForwardingDevice(std::move(inner)), ledger_(&ledger) {}

  void copy_to_device(platform::StreamKind stream, DeviceSpan destination, ConstByteSpan source,
                      const platform::OpLabel& label) override;
  void copy_to_host(platform::StreamKind stream, ByteSpan destination, DeviceSpan source,
                    const platform::OpLabel& label) override;

 private:
  CopyLedger* ledger_;
};

// Enters every gather. The ledger outlives the decorator.
class LedgerCommunicator : public comm::ForwardingCommunicator {
 public:
  // Precondition: inner is not null.
  LedgerCommunicator(std::unique_ptr<comm::Communicator> inner, CopyLedger& ledger)
      : ForwardingCommunicator(std::move(inner)), ledger_(&ledger) {}

  void all_gather(platform::Device& device, platform::StreamKind stream, DeviceSpan input,
                  DeviceSpan output, const platform::OpLabel& label) override;

 private:
  CopyLedger* ledger_;
};

}  // namespace dlo::telemetry
