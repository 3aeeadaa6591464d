// Owns: the guards of the hot path's protocol as data, one list for the simulator's mutants and for
// those on GPUs: each wait and record, the wrong stream that it is moved to, and the stream that
// must be late for its absence to show.
// Must not own: mutants (mutant_device.h, moving_device.h). Plain values.
#pragma once

#include <array>
#include <vector>

#include "platform/device.h"
#include "tests/support/mutant_device.h"

namespace dlo::test_support {

struct ProtocolGuard {
  platform::Site site;
  platform::StreamKind moved_to;  // where it protects nothing
  platform::StreamKind late;      // whose operations it is there for
};

inline constexpr std::array kGuardWaits{
    ProtocolGuard{platform::Site::kReadyWait, platform::StreamKind::kCopy,
                  platform::StreamKind::kCopy},
    ProtocolGuard{platform::Site::kFreeWait, platform::StreamKind::kCompute,
                  platform::StreamKind::kCompute},
    ProtocolGuard{platform::Site::kLandedWait, platform::StreamKind::kCopy,
                  platform::StreamKind::kCopy},
    ProtocolGuard{platform::Site::kInputFreeWait, platform::StreamKind::kComm,
                  platform::StreamKind::kComm},
    ProtocolGuard{platform::Site::kPackedWait, platform::StreamKind::kPack,
                  platform::StreamKind::kPack},
    ProtocolGuard{platform::Site::kStagingFreeWait, platform::StreamKind::kCopy,
                  platform::StreamKind::kCopy}};

inline constexpr std::array kGuardRecords{
    ProtocolGuard{platform::Site::kReadyRecord, platform::StreamKind::kCompute,
                  platform::StreamKind::kCopy},
    ProtocolGuard{platform::Site::kFreeRecord, platform::StreamKind::kCopy,
                  platform::StreamKind::kCompute},
    ProtocolGuard{platform::Site::kLandedRecord, platform::StreamKind::kCompute,
                  platform::StreamKind::kCopy},
    ProtocolGuard{platform::Site::kInputFreeRecord, platform::StreamKind::kCopy,
                  platform::StreamKind::kComm},
    ProtocolGuard{platform::Site::kPackedRecord, platform::StreamKind::kCopy,
                  platform::StreamKind::kPack},
    ProtocolGuard{platform::Site::kStagingFreeRecord, platform::StreamKind::kPack,
                  platform::StreamKind::kCopy}};

[[nodiscard]] inline std::vector<ProtocolGuard> all_guards() {
  std::vector<ProtocolGuard> guards(kGuardWaits.begin(), kGuardWaits.end());
  guards.insert(guards.end(), kGuardRecords.begin(), kGuardRecords.end());
  return guards;
}

// Operations of one site.
[[nodiscard]] inline LabelPredicate at_site(platform::Site site) {
  return [site](const platform::OpLabel& label) { return label.site == site; };
}

}  // namespace dlo::test_support
