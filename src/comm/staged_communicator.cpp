#include "comm/staged_communicator.h"

#include <memory>
#include <utility>

#include "base/error.h"

namespace dlo::comm {

using platform::MemoryPurpose;

Status StagedCommunicator::reserve(platform::Device& device, std::uint64_t input_bytes) {
  if (input_ != nullptr && input_->span().size() >= input_bytes) {
    return {};
  }
  auto input = device.allocate_pinned(input_bytes, MemoryPurpose::kStaging);
  if (!input.ok()) {
    return input.refusal();
  }
  auto output = device.allocate_pinned(input_bytes * static_cast<std::uint64_t>(size()),
                                       MemoryPurpose::kStaging);
  if (!output.ok()) {
    return output.refusal();
  }
  outgrown_.push_back(std::exchange(input_, std::move(input).value()));
  outgrown_.push_back(std::exchange(output_, std::move(output).value()));
  return {};
}

void StagedCommunicator::all_gather(platform::Device& device, platform::StreamKind stream,
                                    DeviceSpan input, DeviceSpan output,
                                    const platform::OpLabel& label) {
  require(output.bytes == static_cast<std::uint64_t>(size()) * input.bytes,
          "all_gather: the output must hold exactly one input a rank");
  if (const Status reserved = reserve(device, input.bytes); !reserved.ok()) {
    const auto refusal = std::make_shared<const Refusal>(reserved.refusal());
    device.launch(
        stream, [refusal] { throw RunError(*refusal); }, label);
    return;
  }
  platform::OpLabel staging = label;
  staging.site = platform::Site::kGatherStaging;
  const ByteSpan mine = input_->span().first(input.bytes);
  const ByteSpan all = output_->span().first(output.bytes);
  device.copy_to_host(stream, mine, input, staging);
  inner().all_gather(device, stream, DeviceSpan{mine.data(), mine.size()},
                     DeviceSpan{all.data(), all.size()}, label);
  device.copy_to_device(stream, output, all, staging);
}

}  // namespace dlo::comm
