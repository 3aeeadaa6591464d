#include "comm/communicator_wait.h"

#include <fmt/format.h>

#include "base/codes.h"
#include "comm/peer_liveness.h"

namespace dlo::comm {

std::optional<Refusal> WaitRules::vanished_member() const {
  const PeerLiveness* liveness = signal->liveness();
  for (const int member : *members) {
    if (liveness != nullptr && liveness->vanished(member)) {
      return Failure{std::string(codes::kPeerFailed), member, -1, std::string(operation),
                     liveness->reason(member)}
          .refusal();
    }
  }
  return std::nullopt;
}

std::optional<Refusal> WaitRules::failure() const {
  const auto standing = signal->poll();
  if (through_failures) {
    return vanished_member();
  }
  return standing ? std::optional<Refusal>(standing->refusal()) : std::nullopt;
}

Refusal WaitRules::timed_out(std::string_view missing) const {
  const auto what = missing.empty() ? std::string("the operation did not end in time")
                                    : fmt::format("rank {} did not come in time", missing);
  return raised(refuse(codes::kDeadlineExceeded, what,
                       fmt::format("{} on rank {}", operation, rank),
                       "look for a stuck rank, or raise the timeout"));
}

Refusal WaitRules::raised(const Refusal& refusal) const {
  if (through_failures) {
    return refusal;
  }
  signal->raise(Failure{refusal.code, rank, block, std::string(operation), refusal.what});
  const auto standing = signal->poll();
  return standing ? standing->refusal() : refusal;
}

}  // namespace dlo::comm
