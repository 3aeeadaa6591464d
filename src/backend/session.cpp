#include "backend/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backend/stream_rest.h"
#include "base/codes.h"
#include "hot_path/all_gather_transfer.h"
#include "hot_path/rank_local_transfer.h"
#include "hot_path/staged_transfer.h"

namespace dlo::backend {

namespace {

constexpr std::size_t kStepsReserved = 16;  // more than a life cycle has: disable() never grows it

bool wants_group(const config::OffloadConfig& config) {
  return wants_streaming(config) && config.dlo_use_allgather && config.dp_size > 1;
}

}  // namespace

Session::Session(const BackendRequest& request) : request_(request) {
  steps_.reserve(kStepsReserved);
}

Deadline Session::deadline() const {
  return Deadline::after(request_.device.clock().now(), request_.timeout);
}

Status Session::check_group() const {
  const auto* control = request_.weight_control;
  const auto* communicator = request_.weight_communicator;
  const auto size = static_cast<int>(request_.config.dp_size);
  const bool wanted = wants_group(request_.config);
  const bool matches = wanted ? control != nullptr && communicator != nullptr &&
                                    control->size() == size && communicator->size() == size &&
                                    control->rank() == communicator->rank()
                              : control == nullptr && communicator == nullptr;
  if (matches) {
    return {};
  }
  return refuse(codes::kTopologyMismatch,
                fmt::format("the configuration wants a weight group of {} ranks, the control group "
                            "has {} and the communicator {}",
                            wanted ? size : 1, control != nullptr ? control->size() : 0,
                            communicator != nullptr ? communicator->size() : 0),
                "weight group", "make both from backend/weight_group.h");
}

Status Session::prepare() {
  const auto& config = request_.config;
  contracts::check_table(request_.table);
  PlacementRules rules{wants_streaming(config), config.dlo_resident_layers, {}};
  if (request_.offload_plan != nullptr) {
    rules.offload_plan = *request_.offload_plan;
  }
  placement_ = plan_placement(request_.table, rules);
  plan_ = plan_transfer(config, placement_, wants_group(config) ? config.dp_size : 1,
                        request_.host_tensors.backing());
  auto status = check_group();
  if (status.ok()) {
    status = check_coverage(request_.table, placement_);
  }
  // Everything that can be refused for lack of memory comes before the first tensor is consumed.
  if (status.ok()) {
    status = allocate();
  }
  if (status.ok()) {
    status = device_store_->place(request_.device, request_.host_tensors, request_.timeout);
  }
  if (status.ok()) {
    status = prepare_host();
  }
  if (status.ok() && !plan_.rings.empty()) {
    build_transfer();
    build_chains();
    build_resident_group();
  }
  return status;
}

Status Session::prepare_host() {
  if (!staging_store_) {
    const auto rank = request_.weight_control != nullptr ? request_.weight_control->rank() : 0;
    return host_store_->pack(placement_, plan_, static_cast<std::uint32_t>(rank),
                             request_.host_tensors);
  }
  auto sources = make_staged_sources(placement_, plan_, request_.host_tensors);
  if (!sources.ok()) {
    return sources.refusal();
  }
  using Shared = std::shared_ptr<hot_path::ChunkPacker>;
  packer_ = std::make_unique<Shared>(std::make_shared<hot_path::ChunkPacker>(
      std::move(sources).value(), request_.host_tensors, request_.pack_workers));
  return {};
}

Status Session::allocate_host() {
  if (plan_.effective.transfer == contracts::Transfer::kStaged) {
    auto staging = StagingStore::allocate(request_.device, plan_);
    if (!staging.ok()) {
      return staging.refusal();
    }
    staging_store_.emplace(std::move(staging).value());
    return {};
  }
  auto host = HostStore::allocate(request_.device, plan_);
  if (!host.ok()) {
    return host.refusal();
  }
  host_store_.emplace(std::move(host).value());
  return {};
}

Status Session::allocate() {
  for (std::size_t s = 0; s < platform::kAllStreams.size(); ++s) {
    drained_.push_back(request_.device.create_event());
  }
  auto host = allocate_host();
  if (!host.ok()) {
    return host;
  }
  auto store = DeviceStore::allocate(request_.device, placement_, plan_);
  if (!store.ok()) {
    return store.refusal();
  }
  device_store_.emplace(std::move(store).value());
  return {};
}

void Session::build_transfer() {
  if (staging_store_) {
    transfer_ = std::make_unique<hot_path::StagedTransfer>(
        request_.device, *packer_,
        hot_path::StagingRing{staging_store_->chunks(), plan_.memory.host_pinned,
                              request_.timeout});
  } else if (plan_.effective.transfer == contracts::Transfer::kAllGather) {
    transfer_ = std::make_unique<hot_path::AllGatherTransfer>(
        request_.device, *request_.weight_communicator, host_store_->sources(plan_),
        device_store_->input_slots());
  } else {
    transfer_ =
        std::make_unique<hot_path::RankLocalTransfer>(request_.device, host_store_->sources(plan_));
  }
}

void Session::build_chains() {
  slots_.emplace(request_.device, device_store_->slots());
  rings_.resize(plan_.rings.size());
  // Ranks of a DP group serve different requests and may skip different blocks; ranks of an SP
  // group run the same one.
  const bool independent = plan_.effective.transfer == contracts::Transfer::kAllGather &&
                           request_.weight_axis != GroupAxis::kSequence;
  const auto on_miss = independent ? hot_path::MissPolicy::kRefuse : hot_path::MissPolicy::kRepair;
  for (const auto& planned : plan_.chains) {
    std::vector<hot_path::ChainedRing> walked;
    for (const auto index : planned.rings) {
      const auto& ring = plan_.rings[index];
      walked.push_back({static_cast<std::uint32_t>(index),
                        static_cast<std::uint32_t>(ring.shards.size()), ring.leading});
    }
    const auto number = static_cast<std::uint32_t>(chains_.size());
    chains_.push_back(std::make_unique<hot_path::PrefetchChain>(
        *slots_, *transfer_, hot_path::ChainOptions{number, planned.prefetch_depth, on_miss},
        walked));
    for (const auto& ring : walked) {
      std::vector<contracts::BlockBinding*> bindings;
      for (const auto& block : placement_.dits[plan_.rings[ring.ring].dit].blocks) {
        bindings.push_back(block.spec->binding);
      }
      rings_[ring.ring] = std::make_unique<hot_path::BlockRing>(
          request_.device, *slots_, *chains_.back(), request_.context.failure_signal, ring,
          std::move(bindings));
    }
  }
}

void Session::build_resident_group() {
  std::vector<ResidentGroup::Member> members;
  for (std::uint32_t r = 0; r < plan_.rings.size(); ++r) {
    const auto& ring = plan_.rings[r];
    for (std::uint32_t b = 0; b < ring.leading; ++b) {
      members.push_back({&placement_.dits[ring.dit].blocks[b], r, b});
    }
  }
  if (!members.empty()) {
    resident_group_.emplace(request_.device, *transfer_, std::move(members));
  }
}

Status Session::vote(const Status& mine) {
  if (request_.weight_control == nullptr) {
    return mine;
  }
  const auto bound = deadline();
  step("vote");
  auto status = comm::vote(*request_.weight_control, "vote on enable", mine, bound);
  if (status.ok()) {
    step("agree");
    status = comm::agree(*request_.weight_control, "schedule", schedule_digest(plan_),
                         codes::kScheduleMismatch, bound);
  }
  if (status.ok()) {
    step("share inputs");
    auto shared = request_.weight_communicator->share_inputs(request_.device,
                                                             device_store_->input_slots(), bound);
    if (shared.ok() && transfer_) {
      shared = transfer_->prepare(device_store_->slots());
    }
    status = comm::vote(*request_.weight_control, "inputs", shared, bound);
  }
  if (!status.ok() && status.refusal().code == codes::kDeadlineExceeded) {
    raise(status.refusal());
  }
  return status;
}

void Session::commit() {
  committed_ = true;
  for (const auto& resident : device_store_->residents()) {
    auto& binding = *resident.placement->spec->binding;
    binding.add_place(0, resident.span, resident.placement->layout);
    binding.bind(0);
  }
  for (const auto& ring : plan_.rings) {
    for (const auto& block : placement_.dits[ring.dit].blocks) {
      auto& binding = *block.spec->binding;
      const bool streamed = block.residency == Residency::kStreamed;
      for (hot_path::SlotIndex s = 0; streamed && s < slots_->count(); ++s) {
        binding.add_place(s, slots_->span(s).subspan(0, block.layout.bytes()), block.layout);
      }
      binding.bind_placeholder();
    }
  }
}

void Session::prime() {
  if (!chains_.empty()) {
    chains_.front()->prime();
  }
}

Status Session::load_residents() {
  return resident_group_ ? resident_group_->load() : Status{};
}

Status Session::drop_residents() {
  return resident_group_ ? resident_group_->drop(deadline()) : Status{};
}

Status Session::retire() {
  const auto bound = deadline();
  for (const auto& chain : chains_) {
    auto retired = chain->retire(request_.device, bound);
    if (!retired.ok()) {
      return retired;
    }
  }
  return {};
}

bool Session::drain() {
  auto& device = request_.device;
  // A gather whose peer is gone does not end by itself on every platform.
  const auto end_gathers = [this, &device] {
    if (request_.weight_communicator != nullptr &&
        (device.failure().has_value() || request_.context.failure_signal->poll().has_value())) {
      request_.weight_communicator->abort();
    }
  };
  const auto bound = deadline();
  if (!await_rest(device, drained_, end_gathers, bound)) {
    return false;
  }
  // A failed device drops queued packing, which leaves workers at what was begun.
  return packer_ == nullptr || (*packer_)->await_quiet(device.clock(), bound);
}

void Session::abandon_buffers() noexcept {
  if (host_store_) {
    host_store_->abandon();
  }
  if (staging_store_) {
    staging_store_->abandon();
  }
  give_up(std::move(packer_));
  if (resident_group_) {
    resident_group_->abandon();
  }
  if (device_store_) {
    device_store_->abandon();
  }
}

void Session::forget_places() noexcept {
  for (const auto& dit : placement_.dits) {
    for (const auto& block : dit.blocks) {
      block.spec->binding->forget_places();
    }
    if (dit.non_block.spec->binding != nullptr) {
      dit.non_block.spec->binding->forget_places();
    }
  }
  committed_ = false;
}

void Session::end_hot_path() noexcept {
  past_repair_traffic_ = repair_traffic();
  past_repair_count_ = repair_count();
  past_stage_count_ = stage_count();
  resident_group_.reset();
  rings_.clear();
  chains_.clear();
  transfer_.reset();
  slots_.reset();
  if (packer_ != nullptr) {
    (*packer_)->settle();
  }
}

void Session::free_buffers() noexcept {
  if (request_.weight_communicator != nullptr && device_store_) {
    request_.weight_communicator->forget_inputs(device_store_->input_slots(), deadline());
  }
  device_store_.reset();
  host_store_.reset();
  staging_store_.reset();
  if (packer_ != nullptr) {
    for (const auto& ring : plan_.rings) {
      for (const auto& block : placement_.dits[ring.dit].blocks) {
        for (const auto& tensor : block.spec->tensors) {
          request_.host_tensors.release(tensor.name);
        }
      }
    }
  }
}

void Session::raise(const Refusal& refusal) const {
  if (request_.context.failure_signal != nullptr) {
    request_.context.failure_signal->raise(
        Failure{refusal.code, request_.context.rank, -1, "enable", refusal.what});
  }
}

contracts::BlockObserver* Session::observer(std::size_t dit) const {
  for (std::size_t r = 0; r < rings_.size() && committed_; ++r) {
    if (plan_.rings[r].dit == dit) {
      return rings_[r].get();  // null when it streams nothing
    }
  }
  return nullptr;
}

Traffic Session::repair_traffic() const {
  Traffic total = past_repair_traffic_;
  for (const auto& chain : chains_) {
    const auto& loads = chain->counts().repair_loads_of;
    for (hot_path::ChainPosition at = 0; at < loads.size(); ++at) {
      const auto& place = chain->place(at);
      total += plan_.rings[place.ring].block_traffic(place.block).times(loads[at]);
    }
  }
  return total;
}

std::uint64_t Session::repair_count() const {
  std::uint64_t count = past_repair_count_;
  for (const auto& chain : chains_) {
    count += chain->counts().repairs;
  }
  return count;
}

std::uint64_t Session::stage_count() const {
  return resident_group_ ? resident_group_->load_count() : past_stage_count_;
}

}  // namespace dlo::backend
