#include "telemetry/copy_ledger.h"

namespace dlo::telemetry {

void CopyLedger::add(platform::Site site, std::uint64_t bytes) {
  auto& entry = entries_[static_cast<std::size_t>(site)];
  ++entry.calls;
  entry.bytes += bytes;
}

LedgerEntry CopyLedger::at(platform::Site site) const {
  return entries_[static_cast<std::size_t>(site)];
}

void LedgerDevice::copy_to_device(platform::StreamKind stream, DeviceSpan destination,
                                  ConstByteSpan source, const platform::OpLabel& label) {
  ledger_->add(label.site, source.size());
  inner().copy_to_device(stream, destination, source, label);
}

void LedgerCommunicator::all_gather(platform::Device& device, platform::StreamKind stream,
                                    DeviceSpan input, DeviceSpan output,
                                    const platform::OpLabel& label) {
  ledger_->add(label.site, output.bytes - input.bytes);
  inner_->all_gather(device, stream, input, output, label);
}

}  // namespace dlo::telemetry
