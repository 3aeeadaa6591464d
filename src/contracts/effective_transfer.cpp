#include "contracts/effective_transfer.h"

#include "base/error.h"

namespace dlo::contracts {

std::string_view transfer_name(Transfer transfer) {
  switch (transfer) {
    case Transfer::kResident:
      return "resident";
    case Transfer::kRankLocal:
      return "rank_local";
    case Transfer::kStaged:
      return "staged";
    case Transfer::kAllGather:
      return "all_gather";
  }
  throw LogicError("transfer without a name");
}

std::string_view backing_name(Backing backing) {
  switch (backing) {
    case Backing::kOrdinary:
      return "ordinary";
    case Backing::kCheckpointMmap:
      return "checkpoint_mmap";
  }
  throw LogicError("backing without a name");
}

}  // namespace dlo::contracts
