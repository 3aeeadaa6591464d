#include "comm/staged_communicator.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace dlo::comm {

using platform::MemoryPurpose;

Status StagedCommunicator::share_inputs(platform::Device& device,
                                        const std::vector<DeviceSpan>& inputs, Deadline deadline) {
  std::uint64_t largest_bytes = 0;
  for (const auto& input : inputs) {
    largest_bytes = std::max(largest_bytes, input.bytes);
  }
  if (input_ == nullptr || input_->span().size() < largest_bytes) {
    auto input = device.allocate_pinned(largest_bytes, MemoryPurpose::kStaging);
    if (!input.ok()) {
      return input.refusal();
    }
    auto output = device.allocate_pinned(largest_bytes * static_cast<std::uint64_t>(size()),
                                         MemoryPurpose::kStaging);
    if (!output.ok()) {
      return output.refusal();
    }
    input_ = std::move(input).value();
    output_ = std::move(output).value();
  }
  return ForwardingCommunicator::share_inputs(device, inputs, deadline);
}

void StagedCommunicator::all_gather(platform::Device& device, platform::StreamKind stream,
                                    DeviceSpan input, DeviceSpan output,
                                    const platform::OpLabel& label) {
  require(output.bytes == static_cast<std::uint64_t>(size()) * input.bytes,
          "all_gather: the output must hold exactly one input a rank");
  require(input_ != nullptr && input.bytes <= input_->span().size(),
          "all_gather: no input of this size was shared");
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
