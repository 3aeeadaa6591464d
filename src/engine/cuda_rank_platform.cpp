// Goal: the CUDA side of engine/rank_platform.h and accelerators.h, in builds with DLO_WITH_CUDA.
#include <optional>
#include <utility>

#include "comm/copy_engine/copy_engine_world.h"
#include "comm/nccl/nccl_world.h"
#include "comm/staged_communicator.h"
#include "engine/accelerators.h"
#include "engine/rank_platform.h"
#include "platform/cuda/cuda_device.h"
#include "platform/cuda/cuda_inventory.h"
#include "platform/posix/child_process.h"
#include "telemetry/nvml.h"

namespace dlo::engine {

namespace {

class CudaRankPlatform : public RankPlatform {
 public:
  CudaRankPlatform(const PlatformSpec& spec, comm::World& world, platform::Clock& clock)
      : spec_(spec), world_(world), clock_(clock) {
    const auto place = world.node_place();
    const int device_count = platform::cuda_device_count();
    shared_ = place.local_size > device_count;
    chosen_ = platform::choose_cuda_device(place.local_rank, place.local_size, device_count,
                                           spec.share_devices);
    watch_counters();
    // NCCL refuses two ranks of a communicator on one device, and copy engines pull from others.
    if (!chosen_.ok() || shared_) {
      return;
    }
    if (spec.gather == "copy_engine") {
      copy_engines_.emplace(world);
    } else {
      nccl_.emplace(
          world, comm::NcclOptions{*chosen_, {spec.nccl_max_ctas, spec.nccl_cluster_size}}, clock);
    }
  }

  [[nodiscard]] Status status() const override {
    return chosen_.ok() ? Status{} : Status(chosen_.refusal());
  }
  [[nodiscard]] comm::World& world() override {
    if (copy_engines_) {
      return *copy_engines_;
    }
    return nccl_ ? static_cast<comm::World&>(*nccl_) : world_;
  }

  [[nodiscard]] Result<std::unique_ptr<platform::Device>> make_device(
      FailureSignal& signal) override {
    platform::CudaDeviceOptions options;
    options.rank = world_.rank();
    options.ordinal = *chosen_;
    options.device_budget_bytes = spec_.device_budget_bytes.value_or(options.device_budget_bytes);
    options.pinned_budget_bytes = spec_.pinned_budget_bytes.value_or(options.pinned_budget_bytes);
    options.clear_timeout =
        static_cast<Nanoseconds>(spec_.wait_timeout_s * static_cast<double>(kSecond));
    return platform::make_cuda_device(options, clock_, signal);
  }

  [[nodiscard]] DeviceCounters counters() const override {
    DeviceCounters counters;
    if (!nvml_) {
      return counters;
    }
    if (const auto links = nvml_->nvlink(); links.ok()) {
      counters.nvlink_received_bytes = links->received;
    }
    if (const auto memory = nvml_->memory(platform::own_process_id()); memory.ok()) {
      counters.used_bytes = memory->used_bytes;
    }
    return counters;
  }

  [[nodiscard]] std::unique_ptr<comm::Communicator> reach(
      std::unique_ptr<comm::Communicator> communicator) override {
    if (!shared_) {
      return communicator;
    }
    return std::make_unique<comm::StagedCommunicator>(std::move(communicator));
  }

 private:
  // Without NVML the counters stay empty.
  void watch_counters() {
    if (!chosen_.ok()) {
      return;
    }
    const auto facts = platform::cuda_device_facts(*chosen_);
    const auto library = telemetry::Nvml::load();
    if (!facts.ok() || !library.ok()) {
      return;
    }
    if (auto device = library->device(facts->pci_bus_id); device.ok()) {
      nvml_.emplace(std::move(device).value());
    }
  }

  const PlatformSpec& spec_;
  comm::World& world_;
  platform::Clock& clock_;
  bool shared_ = false;
  Result<int> chosen_ = 0;
  std::optional<comm::NcclWorld> nccl_;
  std::optional<comm::CopyEngineWorld> copy_engines_;
  std::optional<telemetry::NvmlDevice> nvml_;
};

}  // namespace

std::unique_ptr<RankPlatform> make_cuda_rank_platform(const PlatformSpec& spec, comm::World& world,
                                                      platform::Clock& clock) {
  return std::make_unique<CudaRankPlatform>(spec, world, clock);
}

Accelerators find_accelerators() {
  Accelerators found;
  found.in_build = true;
  for (int ordinal = 0; ordinal < platform::cuda_device_count(); ++ordinal) {
    if (const auto facts = platform::cuda_device_facts(ordinal); facts.ok()) {
      found.devices.push_back({ordinal, facts->name, facts->pci_bus_id, facts->hbm_bytes});
    }
  }
  if (const auto versions = platform::cuda_versions_text(); !versions.empty()) {
    found.versions = versions + ", " + comm::nccl_version_text();
  }
  return found;
}

}  // namespace dlo::engine
