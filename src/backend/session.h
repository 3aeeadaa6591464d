// Owns: Session, everything that one enabled backend holds, and the steps that build it and take
// it apart: prepare, vote, commit, drain, forget, free.
// Must not own: the order of these steps and what follows a refusal (offload_backend.cpp).
// Threading: launching thread. Failure: each step says; every step may be followed by tear-down,
// whatever state it left.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/device_store.h"
#include "backend/given_up_buffers.h"
#include "backend/host_store.h"
#include "backend/offload_backend.h"
#include "backend/placement_plan.h"
#include "backend/resident_group.h"
#include "backend/staging_store.h"
#include "backend/transfer_plan.h"
#include "hot_path/block_ring.h"
#include "hot_path/slot_pool.h"
#include "platform/clock.h"

namespace dlo::backend {

class Session {
 public:
  explicit Session(const BackendRequest& request);

  // Plans, allocates, pins, places, packs; touches no binding. Host tensors are released on the
  // way, but for those of blocks that stay in mapped files. May throw what the parts throw.
  [[nodiscard]] Status prepare();

  // Vote on `mine`, then agreement on the schedule, then the input slots become known to the peers,
  // under one deadline. Without a weight group the answer is `mine`. A vote that ended by its
  // deadline is raised as this rank's failure: peers may have counted it as a yes.
  [[nodiscard]] Status vote(const Status& mine);

  // Announces every place and binds the resident ones. Call only after a unanimous yes.
  void commit();

  // Fills the slots of the first chain; other chains are entered group-first.
  void prime();

  // Waits on the host for the tail prefetch of every chain.
  [[nodiscard]] Status retire();

  // Blocks that are resident for a stage come and go. Nothing where there are none.
  [[nodiscard]] Status load_residents();
  [[nodiscard]] Status drop_residents();

  // True when no stream and no packing thread can touch our buffers any more; false past the
  // deadline.
  [[nodiscard]] bool drain();

  // Gives up buffers that a stream or a packing thread may still touch.
  void abandon_buffers() noexcept;

  // After commit(): every block is at its placeholder again.
  void forget_places() noexcept;

  // Ends the hot path; its counts are kept.
  void end_hot_path() noexcept;
  // The tensors of blocks that stayed in mapped files are released too, so that these close.
  void free_buffers() noexcept;

  // Raises `refusal` as this rank's failure, for peers that went on.
  void raise(const Refusal& refusal) const;

  [[nodiscard]] contracts::BlockObserver* observer(std::size_t dit) const;
  [[nodiscard]] const TransferPlan& plan() const { return plan_; }
  [[nodiscard]] bool committed() const { return committed_; }
  // Loads that repairs cost, and how many repairs there were, so far.
  [[nodiscard]] Traffic repair_traffic() const;
  [[nodiscard]] std::uint64_t repair_count() const;
  // How often load_residents() loaded, so far.
  [[nodiscard]] std::uint64_t stage_count() const;
  [[nodiscard]] const BackendRequest& request() const { return request_; }

  void step(std::string name) { steps_.push_back(std::move(name)); }
  [[nodiscard]] const std::vector<std::string>& steps() const { return steps_; }

 private:
  [[nodiscard]] Deadline deadline() const;
  [[nodiscard]] Status check_group() const;
  [[nodiscard]] Status allocate();
  [[nodiscard]] Status allocate_host();
  // Packs the host store, or notes where the blocks lie in their files.
  [[nodiscard]] Status prepare_host();
  void build_transfer();
  void build_chains();
  void build_resident_group();

  BackendRequest request_;
  PlacementPlan placement_;
  TransferPlan plan_;
  std::optional<HostStore> host_store_;        // unless blocks stay in mapped files
  std::optional<StagingStore> staging_store_;  // when they do
  PackerHolder packer_;                        // likewise; null once it was given up
  std::optional<DeviceStore> device_store_;
  std::optional<hot_path::SlotPool> slots_;
  std::unique_ptr<hot_path::BlockTransfer> transfer_;
  std::vector<std::unique_ptr<hot_path::PrefetchChain>> chains_;  // by ChainPlan
  std::vector<std::unique_ptr<hot_path::BlockRing>> rings_;  // by RingPlan; null: streams nothing
  std::optional<ResidentGroup> resident_group_;              // when blocks are resident for a stage
  std::vector<platform::EventId> drained_;                   // one a stream
  bool committed_ = false;
  Traffic past_repair_traffic_;
  std::uint64_t past_repair_count_ = 0;
  std::uint64_t past_stage_count_ = 0;
  std::vector<std::string> steps_;
};

}  // namespace dlo::backend
