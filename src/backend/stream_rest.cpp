#include "backend/stream_rest.h"

#include "platform/clock.h"

namespace dlo::backend {

namespace {

constexpr Nanoseconds kPoll = kMillisecond;

}  // namespace

bool await_rest(platform::Device& device, std::span<const platform::EventId> ends,
                const std::function<void()>& end_gathers, Deadline bound) {
  end_gathers();
  for (std::size_t s = 0; s < ends.size(); ++s) {
    device.record(ends[s], platform::kAllStreams[s], {.site = platform::Site::kDrain});
  }
  for (const auto end : ends) {
    while (!device.query(end)) {
      end_gathers();
      if (bound.expired(device.clock().now())) {
        return false;
      }
      device.clock().sleep(kPoll);
    }
  }
  return true;
}

}  // namespace dlo::backend
