#include "engine/rank_measurements.h"

#include "engine/rank_platform.h"
#include "telemetry/smaps_rollup.h"

namespace dlo::engine {

using platform::MemoryPurpose;

ProcessMemory process_memory(const platform::FileSystem& files) {
  const auto rollup = telemetry::read_smaps_rollup(files);
  if (!rollup.ok()) {
    return {};
  }
  return {.rss_bytes = rollup->rss_bytes.value_or(0),
          .pss_bytes = rollup->pss_bytes.value_or(0),
          .private_dirty_bytes = rollup->private_dirty_bytes.value_or(0),
          .shared_clean_bytes = rollup->shared_clean_bytes.value_or(0),
          .pss_file_bytes = rollup->pss_file_bytes.value_or(0)};
}

void measure_memory(const platform::Device& device, const OperandBytes& operands,
                    const platform::FileSystem& files, RankReport& report) {
  auto& owned = report.owned;
  const auto pinned = device.pinned_memory();
  const auto pageable = device.pageable_memory();
  owned.pinned_now = pinned.now_bytes - operands.pinned;
  owned.host_private_now = owned.pinned_now + pageable.now_bytes - operands.pageable;
  owned.device_now = 0;
  owned.device_peak = 0;
  for (const auto purpose :
       {MemoryPurpose::kSlot, MemoryPurpose::kInputSlot, MemoryPurpose::kResident,
        MemoryPurpose::kNonBlock, MemoryPurpose::kComponent}) {
    owned.device_now += device.device_memory(purpose).now_bytes;
    owned.device_peak += device.device_memory(purpose).peak_bytes;
  }
  const auto component = device.device_memory(MemoryPurpose::kComponent);
  owned.component_now = component.now_bytes;
  owned.component_peak = component.peak_bytes;
  report.process = process_memory(files);
}

void measure_host_peaks(const platform::Device& device, RankReport& report) {
  const auto pinned = device.pinned_memory();
  report.owned.pinned_peak = pinned.peak_bytes;
  report.owned.host_private_peak = pinned.peak_bytes + device.pageable_memory().peak_bytes;
}

void measure_traffic(const telemetry::CopyLedger& ledger, const backend::OffloadBackend& backend,
                     const std::vector<std::uint64_t>& ring_walks, RankReport& report) {
  auto& traffic = report.traffic;
  const auto h2d = ledger.at(platform::Site::kH2d);
  const auto gather = ledger.at(platform::Site::kGather);
  traffic.h2d_calls = h2d.calls;
  traffic.h2d_bytes = h2d.bytes;
  traffic.gather_calls = gather.calls;
  traffic.gather_bytes = gather.bytes;
  const auto planned = backend.planned_traffic(ring_walks);
  traffic.h2d_bytes_planned = planned.h2d_bytes;
  traffic.gather_bytes_planned = planned.gather_bytes;
  traffic.repairs = backend.repair_count();
  report.owned.device_limit = backend.memory_plan().device_limit_bytes();
  report.owned.host_private_limit =
      backend.memory_plan().host_store_bytes + backend.memory_plan().staging_bytes();
}

void allow_gather_staging(const backend::MemoryPlan& plan, RankReport& report) {
  if (report.gather == kGatherThroughHost) {
    report.owned.host_private_limit += (1 + report.weight_group.size()) * plan.input_slot_bytes;
  }
}

void allow_component(const backend::DeviceComponent& component, RankReport& report) {
  report.owned.device_limit += component.device_bytes();
  report.owned.host_private_limit += component.host_bytes();
}

}  // namespace dlo::engine
