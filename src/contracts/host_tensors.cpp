#include "contracts/host_tensors.h"

#include "base/codes.h"

namespace dlo::contracts {

Refusal truncated_refusal(const HostTensors& tensors, const std::string& read) {
  const std::string file = tensors.truncated_file();
  return refuse(codes::kMappingTruncated,
                "a checkpoint file became shorter while " + read + " was read from it",
                file.empty() ? "mapped checkpoint" : file,
                "restore the file and start again; never write to a checkpoint that is in use");
}

Status check_intact(const HostTensors& tensors, const std::string& read) {
  return tensors.intact() ? Status{} : Status{truncated_refusal(tensors, read)};
}

}  // namespace dlo::contracts
