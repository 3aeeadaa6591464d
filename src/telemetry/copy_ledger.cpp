#include "telemetry/copy_ledger.h"

namespace dlo::telemetry {

void CopyLedger::add(platform::Site site, platform::StreamKind stream, std::uint64_t bytes) {
  auto& entry = entries_[static_cast<std::size_t>(site)][static_cast<std::size_t>(stream)];
  ++entry.calls;
  entry.bytes += bytes;
}

LedgerEntry CopyLedger::at(platform::Site site) const {
  LedgerEntry sum;
  for (const auto& entry : entries_[static_cast<std::size_t>(site)]) {
    sum.calls += entry.calls;
    sum.bytes += entry.bytes;
  }
  return sum;
}

LedgerEntry CopyLedger::at(platform::Site site, platform::StreamKind stream) const {
  return entries_[static_cast<std::size_t>(site)][static_cast<std::size_t>(stream)];
}

void LedgerDevice::copy_to_device(platform::StreamKind stream, DeviceSpan destination,
                                  ConstByteSpan source, const platform::OpLabel& label) {
  ledger_->add(label.site, stream, source.size());
  inner().copy_to_device(stream, destination, source, label);
}

void LedgerDevice::copy_to_host(platform::StreamKind stream, ByteSpan destination,
                                DeviceSpan source, const platform::OpLabel& label) {
  ledger_->add(label.site, stream, source.bytes);
  inner().copy_to_host(stream, destination, source, label);
}

void LedgerCommunicator::all_gather(platform::Device& device, platform::StreamKind stream,
                                    DeviceSpan input, DeviceSpan output,
                                    const platform::OpLabel& label) {
  ledger_->add(label.site, stream, output.bytes - input.bytes);
  inner().all_gather(device, stream, input, output, label);
}

}  // namespace dlo::telemetry
