// Owns: reading a rank's figures off what a worker holds: memory from the platform's books and the
// kernel, traffic from the copy ledger, against what the plan says.
// Must not own: when that is done (worker), or verdicts (harness). Threading: launching thread.
// Failure: a kernel that tells nothing leaves the process figures at 0.
#pragma once

#include "backend/device_component.h"
#include "backend/offload_backend.h"
#include "engine/operand.h"
#include "engine/run_report.h"
#include "platform/device.h"
#include "platform/file_system.h"
#include "telemetry/copy_ledger.h"

namespace dlo::engine {

// What /proc/self/smaps_rollup shows now.
[[nodiscard]] ProcessMemory process_memory(const platform::FileSystem& files);

// Peaks of host memory, while nothing but weights was ever in it: before operands are made.
void measure_host_peaks(const platform::Device& device, RankReport& report);

// The rest of the memory; `operands` are host bytes that are no weights.
void measure_memory(const platform::Device& device, const OperandBytes& operands,
                    const platform::FileSystem& files, RankReport& report);

// Fills report.traffic but for the count of forwards; `ring_walks` are walks of each ring.
void measure_traffic(const telemetry::CopyLedger& ledger, const backend::OffloadBackend& backend,
                     const std::vector<std::uint64_t>& ring_walks, RankReport& report);

// These add to the limits that measure_traffic() took from the plan: where gathers go through host
// memory, staging for a piece of this rank and one of every rank of its group; what a component
// beside the DiTs may take, its device bytes, whether it stays or comes and goes, and its host
// master.
void allow_gather_staging(const backend::MemoryPlan& plan, RankReport& report);
void allow_component(const backend::DeviceComponent& component, RankReport& report);

}  // namespace dlo::engine
