#include "backend/traffic_plan.h"

namespace dlo::backend {

Traffic& Traffic::operator+=(const Traffic& other) {
  h2d_calls += other.h2d_calls;
  h2d_bytes += other.h2d_bytes;
  gather_calls += other.gather_calls;
  gather_bytes += other.gather_bytes;
  return *this;
}

Traffic Traffic::times(std::uint64_t count) const {
  return Traffic{h2d_calls * count, h2d_bytes * count, gather_calls * count, gather_bytes * count};
}

std::uint64_t MemoryPlan::device_limit_bytes() const {
  return slot_count * slot_bytes + input_slot_count * input_slot_bytes + resident_bytes +
         non_block_bytes;
}

}  // namespace dlo::backend
