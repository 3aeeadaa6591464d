#include "comm/mpi/mpi_groups.h"

#include <utility>

#include "base/error.h"
#include "comm/mpi/mpi_exchange.h"

namespace dlo::comm {

MpiControlGroup::MpiControlGroup(std::shared_ptr<MpiState> state,
                                 std::shared_ptr<MpiCommHandle> comm, MpiMembers members,
                                 bool through_failures)
    : state_(std::move(state)),
      comm_(std::move(comm)),
      members_(std::move(members)),
      through_failures_(through_failures) {}

Result<std::vector<std::string>> MpiControlGroup::exchange(std::string_view operation,
                                                           std::string_view mine,
                                                           Deadline deadline) {
  constexpr int kTag = 1;
  return run_exchange(
      state_, MpiExchange::Request{comm_, members_, kTag, sequence_++, std::string(operation),
                                   std::string(mine), deadline, through_failures_});
}

MpiCommunicator::MpiCommunicator(std::shared_ptr<MpiState> state,
                                 std::shared_ptr<MpiCommHandle> comm, const MpiMembers& members,
                                 Nanoseconds timeout)
    : state_(std::move(state)),
      gather_(std::make_shared<MpiGather>(state_, std::move(comm), members)),
      rank_(static_cast<int>(members.position)),
      size_(static_cast<int>(members.peers.size())),
      timeout_(timeout) {}

void MpiCommunicator::all_gather(platform::Device& device, platform::StreamKind stream,
                                 DeviceSpan input, DeviceSpan output,
                                 const platform::OpLabel& label) {
  require(output.bytes == static_cast<std::uint64_t>(size_) * input.bytes,
          "all_gather: the output must hold exactly one input a rank");
  MpiGather::Call call{sequence_++, label, input, output, {}};
  const auto task = [gather = gather_, clock = state_->clock, call, timeout = timeout_]() mutable {
    call.deadline = Deadline::after(clock->now(), timeout);
    if (const Status status = MpiGather::run(gather, call); !status.ok()) {
      throw RunError(status.refusal());
    }
  };
  // On a host thread everywhere: under CUDA the spans are staging memory of the host.
  device.launch_host(stream, task, label);
}

}  // namespace dlo::comm
