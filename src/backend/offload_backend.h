// Owns: OffloadBackend, plane 3: discovery of blocks, layouts, host store, slots, the vote of the
// weight group, and the way back. Resident and streamed runs go through the same object.
// Must not own: loading (host_weights), the per-block protocol (hot_path), communicators or their
// teardown, request order (engine).
// Order of enable(): prepare (allocate, pin, pack, place, validate; no binding is touched) ->
// vote -> agree on the schedule digest -> commit (bindings, prime). Any no on any rank of the
// weight group ends enable() on all of them with the first refusal's code, everything freed.
// Loader-made host tensors are released one by one while preparing: a refused enable() leaves the
// model at its placeholders, as it found it, but the loaded weights are consumed; the run is over.
// Threading: everything is called by the launching thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/traffic_plan.h"
#include "backend/weight_group.h"
#include "base/deadline.h"
#include "base/rank_context.h"
#include "base/result.h"
#include "comm/communicator.h"
#include "config/offload_config.h"
#include "contracts/block_observer.h"
#include "contracts/effective_transfer.h"
#include "contracts/host_tensors.h"
#include "contracts/offload_plan.h"
#include "contracts/parameter_table.h"
#include "platform/device.h"
#include "platform/executor.h"

namespace dlo::backend {

// What one rank brings. All references and pointers outlive the backend.
struct BackendRequest {
  const config::OffloadConfig& config;
  const contracts::ParameterTable& table;
  contracts::HostTensors& host_tensors;
  platform::Device& device;
  const RankContext& context;
  // Both null without a weight group (backend/weight_group.h), both set with one.
  comm::ControlGroup* weight_control = nullptr;
  comm::Communicator* weight_communicator = nullptr;
  GroupAxis weight_axis = GroupAxis::kNone;
  // What the model says about offloading; null: nothing.
  const contracts::OffloadPlan* offload_plan = nullptr;
  // Threads that help to pack blocks which stay in mapped files; null: the pack stream's own packs
  // alone.
  platform::Executor* pack_workers = nullptr;
  // Bounds enable()'s waits and its vote, end_request() and disable(), each on its own.
  Nanoseconds timeout = 30 * kSecond;
};

class OffloadBackend {
 public:
  explicit OffloadBackend(const BackendRequest& request);
  // Disables; problems are logged.
  ~OffloadBackend();
  OffloadBackend(const OffloadBackend&) = delete;
  OffloadBackend& operator=(const OffloadBackend&) = delete;

  // Collective over the weight group, once. Codes: pin_failed, host_out_of_memory,
  // device_out_of_memory, dtype_mismatch, shape_mismatch, mapping_truncated, topology_mismatch,
  // placement_invalid, schedule_mismatch, deadline_exceeded, or a peer's.
  [[nodiscard]] Status enable();

  // The observer of the ring of DiT `dit` (index into the table); null when it streams nothing,
  // before enable() and after disable(). Valid until disable().
  [[nodiscard]] contracts::BlockObserver* observer(std::size_t dit);

  // Start of a request: blocks that are resident for the stage get memory and their loads are
  // issued, which the host does not wait for. Idempotent; nothing where there are none. A refusal
  // for lack of memory leaves everything as it was. Codes: device_out_of_memory, a device's
  // failure. Throws RunError where a load does (pageable staging).
  [[nodiscard]] Status begin_request();

  // End of a request, before anything is decoded: waits on the host until the tail prefetch has
  // landed, so that nothing is in flight between requests; compute waits for nothing and the slots
  // stay warm for the next one. Blocks that are resident for the stage are dropped, which waits for
  // compute too. Idempotent.
  [[nodiscard]] Status end_request();

  // Idempotent, safe in any half-built state, before communicators go: waits for the streams,
  // points every block at its placeholder, frees everything. Returns problems met on the way, one
  // line each. Buffers that a stream may still touch past the deadline are left to the process.
  [[nodiscard]] std::vector<std::string> disable() noexcept;
  // disable() has done the latter: what the device's books list from then on is no leak.
  [[nodiscard]] bool abandoned_buffers() const;

  // Meaningful once enable() has prepared (after a refused enable() too).
  [[nodiscard]] const contracts::EffectiveTransfer& effective() const;
  [[nodiscard]] const MemoryPlan& memory_plan() const;
  [[nodiscard]] const TrafficPlan& traffic_plan() const;
  // What the copy ledger must show after `forwards[d]` complete walks of DiT d's ring: prime,
  // forwards and the repairs that happened. Blocks skipped by the caller are walks not completed,
  // and so is a DiT whose child was not walked before it.
  [[nodiscard]] Traffic planned_traffic(const std::vector<std::uint64_t>& forwards) const;
  // Loads that were not refills: group-first entries and skipped or repeated blocks.
  [[nodiscard]] std::uint64_t repair_count() const;
  // Steps in the order they were taken: "prepare", "vote", "agree", "share inputs", "commit",
  // "disable: drain streams", "disable: placeholders", "disable: end hot path", "disable: free
  // buffers".
  [[nodiscard]] const std::vector<std::string>& steps() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dlo::backend
