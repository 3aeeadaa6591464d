#include "comm/nccl/nccl_world.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "base/thrown_refusal.h"
#include "comm/nccl/nccl_communicator.h"
#include "comm/nccl/nccl_error.h"
#include "comm/nccl/nccl_start.h"

namespace dlo::comm {

namespace {

// The id that the group's first rank draws; all ranks get one answer.
Result<ncclUniqueId> share_id(ControlGroup& group, const std::string& where, Deadline deadline) {
  std::string mine;
  Status drawn;
  if (group.rank() == 0) {
    ncclUniqueId id{};
    const auto status = ncclGetUniqueId(&id);
    if (status == ncclSuccess) {
      mine = nccl_id_text(id);
    } else {
      drawn = nccl_refusal(status, nullptr, "NCCL gives no id", where);
    }
  }
  if (auto agreed = vote(group, "nccl id", drawn, deadline); !agreed.ok()) {
    return agreed.refusal();
  }
  auto texts = group.exchange("nccl id", mine, deadline);
  if (!texts.ok()) {
    return texts.refusal();
  }
  return nccl_id_from_text(texts->front());
}

}  // namespace

Result<std::unique_ptr<Communicator>> NcclWorld::make_communicator(
    const std::vector<int>& world_ranks, std::string_view purpose, Deadline deadline,
    Nanoseconds /*collective_timeout*/) {
  auto group = inner().make_control_group(world_ranks, fmt::format("{} (NCCL)", purpose), deadline);
  if (!group.ok()) {
    return group.refusal();
  }
  ControlGroup& control = **group;
  const std::string where = fmt::format("{} on rank {}", purpose, rank());
  const auto id = share_id(control, where, deadline);
  if (!id.ok()) {
    return id.refusal();
  }
  const NcclStartRequest request{
      *id, control.rank(), control.size(), options_.ordinal, options_.shape, where};
  auto started = start_nccl(request, clock_, failure_signal(), deadline);
  std::unique_ptr<Communicator> communicator;
  Status mine = started.ok() ? Status{} : Status(started.refusal());
  if (started.ok()) {
    try {
      communicator = std::make_unique<NcclCommunicator>(
          *started, NcclMember{control.rank(), control.size(), where}, failure_signal(), clock_);
    } catch (...) {  // no thread to be had for its watch: nobody owns the handle yet
      end_within_bound(*started, &ncclCommAbort);
      mine = thrown_refusal(std::current_exception(), where);
    }
  }
  if (auto agreed = vote(control, "nccl start", mine, deadline); !agreed.ok()) {
    if (communicator != nullptr) {
      communicator->abort();
    }
    return agreed.refusal();
  }
  return communicator;
}

std::string nccl_version_text() {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess) {
    return "";
  }
  return fmt::format("NCCL {}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

}  // namespace dlo::comm
