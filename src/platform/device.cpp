#include "platform/device.h"

#include "base/error.h"

namespace dlo::platform {

std::string_view stream_name(StreamKind stream) {
  switch (stream) {
    case StreamKind::kCompute:
      return "compute";
    case StreamKind::kCopy:
      return "copy";
    case StreamKind::kComm:
      return "comm";
    case StreamKind::kPack:
      return "pack";
  }
  throw LogicError("stream without a name");
}

std::string_view memory_purpose_name(MemoryPurpose purpose) {
  switch (purpose) {
    case MemoryPurpose::kSlot:
      return "slot";
    case MemoryPurpose::kInputSlot:
      return "input_slot";
    case MemoryPurpose::kResident:
      return "resident";
    case MemoryPurpose::kNonBlock:
      return "non_block";
    case MemoryPurpose::kComponent:
      return "component";
    case MemoryPurpose::kHostShard:
      return "host_shard";
    case MemoryPurpose::kStaging:
      return "staging";
    case MemoryPurpose::kOther:
      return "other";
  }
  throw LogicError("memory purpose without a name");
}

}  // namespace dlo::platform
