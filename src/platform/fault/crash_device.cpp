#include "platform/fault/crash_device.h"

#include <array>
#include <vector>

#include "base/codes.h"
#include "base/nearest_name.h"
#include "platform/clock.h"

namespace dlo::platform {

namespace {

// The dying rank has handed in its part long before it dies; its peers come long after.
constexpr Nanoseconds kInsideGather = 100 * kMillisecond;
constexpr Nanoseconds kPeersHeldUp = 400 * kMillisecond;

struct PlaceRow {
  CrashPlace place;
  std::string_view name;
};

constexpr std::array kPlaces = {
    PlaceRow{CrashPlace::kEnable, "enable"},
    PlaceRow{CrashPlace::kCopy, "copy"},
    PlaceRow{CrashPlace::kBeforeGather, "before_gather"},
    PlaceRow{CrashPlace::kInGather, "in_gather"},
    PlaceRow{CrashPlace::kDisable, "disable"},
};

}  // namespace

std::string_view crash_place_name(CrashPlace place) {
  return kPlaces.at(static_cast<std::size_t>(place)).name;
}

Result<CrashPlace> crash_place_from_name(std::string_view name) {
  std::vector<std::string_view> known;
  for (const auto& row : kPlaces) {
    if (row.name == name) {
      return row.place;
    }
    known.push_back(row.name);
  }
  return refuse(codes::kInvalidValue, "no place of a crash is called '" + std::string(name) + "'",
                "faults", suggest_name(name, known));
}

CrashDevice::CrashDevice(std::unique_ptr<Device> inner, const CrashFault& fault, int rank,
                         CrashActions actions)
    : ForwardingDevice(std::move(inner)),
      fault_(fault),
      victim_(fault.rank == rank),
      actions_(std::move(actions)) {}

bool CrashDevice::arrives(CrashPlace place) {
  return fault_.place == place && ++count_ == fault_.nth;
}

void CrashDevice::crash_at(CrashPlace place) {
  if (victim_ && arrives(place)) {
    if (actions_.before) {
      actions_.before();
    }
    actions_.end(fault_.kind);
  }
}

void CrashDevice::record(EventId event, StreamKind stream, const OpLabel& label) {
  if (label.site == Site::kDrain) {
    crash_at(CrashPlace::kDisable);
  }
  ForwardingDevice::record(event, stream, label);
}

void CrashDevice::copy_to_device(StreamKind stream, DeviceSpan destination, ConstByteSpan source,
                                 const OpLabel& label) {
  if (label.site == Site::kPlacement) {
    crash_at(CrashPlace::kEnable);
  } else if (label.site == Site::kH2d) {
    crash_at(CrashPlace::kCopy);
  }
  ForwardingDevice::copy_to_device(stream, destination, source, label);
}

void CrashDevice::launch(StreamKind stream, StreamTask task, const OpLabel& label) {
  look_at_launch(stream, label);
  ForwardingDevice::launch(stream, std::move(task), label);
}

void CrashDevice::launch_host(StreamKind stream, StreamTask task, const OpLabel& label) {
  look_at_launch(stream, label);
  ForwardingDevice::launch_host(stream, std::move(task), label);
}

void CrashDevice::look_at_launch(StreamKind stream, const OpLabel& label) {
  if (label.site == Site::kGather) {
    crash_at(CrashPlace::kBeforeGather);
    if (arrives(CrashPlace::kInGather)) {
      prepare_gather(stream, label);
    }
  }
}

void CrashDevice::prepare_gather(StreamKind stream, const OpLabel& label) {
  if (victim_) {
    ForwardingDevice::launch_host(
        stream,
        [this] {
          if (actions_.before) {
            actions_.before();
          }
          actions_.end_after(fault_.kind, kInsideGather);
        },
        label);
    return;
  }
  Clock& time = clock();
  ForwardingDevice::launch_host(
      stream, [&time] { time.sleep(kPeersHeldUp); }, label);
}

}  // namespace dlo::platform
