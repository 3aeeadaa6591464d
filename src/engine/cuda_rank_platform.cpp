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
#include "telemetry/nvml.h"

namespace dlo::engine {

namespace {

class CudaRankPlatform : public RankPlatform {
 public:
  CudaRankPlatform(const PlatformSpec& spec, comm::World& world, platform::Clock& clock)
      : spec_(spec),
        world_(world),
        clock_(clock),
        place_(world.node_place()),
        device_count_(platform::cuda_device_count()),
        chosen_(platform::choose_cuda_device(place_.local_rank, place_.local_size, device_count_,
                                             spec.share_devices)),
        nvml_(watched(chosen_)) {
    if (!chosen_.ok()) {
      return;
    }
    if (spec.gather == "copy_engine") {
      copy_engines_.emplace(world);
    } else if (place_.local_size <= device_count_) {  // NCCL refuses two ranks on one device
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

  [[nodiscard]] DeviceCounters counters() const override { return read_counters(nvml_, clock_); }

  [[nodiscard]] std::string_view gather() const override {
    if (!chosen_.ok()) {
      return "";
    }
    if (copy_engines_) {
      return "copy_engine";
    }
    return nccl_ ? "nccl" : kGatherThroughHost;
  }

  [[nodiscard]] std::unique_ptr<comm::Communicator> reach(
      std::unique_ptr<comm::Communicator> communicator) override {
    if (copy_engines_ || nccl_) {
      return communicator;
    }
    return std::make_unique<comm::StagedCommunicator>(std::move(communicator));
  }

 private:
  [[nodiscard]] static Result<telemetry::NvmlDevice> watched(const Result<int>& chosen) {
    if (!chosen.ok()) {
      return chosen.refusal();
    }
    const auto facts = platform::cuda_device_facts(*chosen);
    if (!facts.ok()) {
      return facts.refusal();
    }
    const auto library = telemetry::Nvml::load();
    return library.ok() ? library->device(facts->pci_bus_id)
                        : Result<telemetry::NvmlDevice>(library.refusal());
  }

  const PlatformSpec& spec_;
  comm::World& world_;
  platform::Clock& clock_;
  const comm::NodePlace place_;
  const int device_count_;
  const Result<int> chosen_;
  const Result<telemetry::NvmlDevice> nvml_;
  std::optional<comm::NcclWorld> nccl_;
  std::optional<comm::CopyEngineWorld> copy_engines_;
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
