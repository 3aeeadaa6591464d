// Owns: CrashDevice, the decorator of a rank that dies or stops at a place of the protocol: it
// finds the place by the operation's label and then does what it was given. Must not own: the end
// itself (posix/self_signal.h), or how peers notice. Threading: places are met on the launching
// thread, kInGather on a stream's; `before` and the end are called there. Failure: none of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"
#include "platform/forwarding_device.h"

namespace dlo::platform {

enum class CrashKind : std::uint8_t { kDies, kStops };

enum class CrashPlace : std::uint8_t {
  kEnable,        // before the copy of resident weights, ahead of the vote
  kCopy,          // before a block's host-to-device copy is issued
  kBeforeGather,  // before a gather is issued: peers wait for a rank that never comes
  kInGather,      // inside the collective: this rank has come, its peers are held up meanwhile
  kDisable,       // in disable(), when the streams are drained
};

[[nodiscard]] std::string_view crash_place_name(CrashPlace place);  // "enable", "copy", ...
[[nodiscard]] Result<CrashPlace> crash_place_from_name(std::string_view name);

struct CrashFault {
  int rank = 0;
  CrashKind kind = CrashKind::kDies;
  CrashPlace place = CrashPlace::kEnable;
  std::uint64_t nth = 1;  // the n-th operation at that place, from 1
};

struct CrashActions {
  std::function<void()> before;                           // a last note; may be empty
  std::function<void(CrashKind)> end;                     // now
  std::function<void(CrashKind, Nanoseconds)> end_after;  // while the caller goes on
};

class CrashDevice : public ForwardingDevice {
 public:
  // On rank `fault.rank` the device crashes; on others it only holds up the gather that a rank dies
  // in, so that the dying one is inside first.
  CrashDevice(std::unique_ptr<Device> inner, const CrashFault& fault, int rank,
              CrashActions actions);

  void record(EventId event, StreamKind stream, const OpLabel& label) override;
  void copy_to_device(StreamKind stream, DeviceSpan destination, ConstByteSpan source,
                      const OpLabel& label) override;
  void launch(StreamKind stream, StreamTask task, const OpLabel& label) override;
  void launch_host(StreamKind stream, StreamTask task, const OpLabel& label) override;

 private:
  // True at the n-th call for `place`.
  bool arrives(CrashPlace place);
  void crash_at(CrashPlace place);
  // A launch of a gather is a place, whichever way it is launched.
  void look_at_launch(StreamKind stream, const OpLabel& label);
  void prepare_gather(StreamKind stream, const OpLabel& label);

  CrashFault fault_;
  bool victim_;
  CrashActions actions_;
  std::uint64_t count_ = 0;
};

}  // namespace dlo::platform
