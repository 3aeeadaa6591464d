#include <array>
#include <string>

#include "base/codes.h"
#include "config/offload_config.h"
#include "config/rules.h"

namespace dlo::config {

namespace {

OffloadStrategy strategy_of(const Configuration& c) {
  return normalise(c.options, c.parallel).strategy;
}

constexpr Rule unsupported(std::string_view subject, bool (*violated)(const Configuration&),
                           std::string (*what)(const Configuration&), std::string_view action) {
  return Rule{codes::kNotInThisProduct, Stage::kEngine, subject, violated, what, action};
}

constexpr std::array kUnsupported = {
    unsupported(
        "enable_layerwise_offload",
        [](const Configuration& c) { return strategy_of(c) == OffloadStrategy::kLayerwise; },
        [](const Configuration&) -> std::string { return "plain layerwise offload"; },
        "set enable_distributed_layerwise_offload with dlo_use_allgather=false instead"),
    unsupported(
        "enable_cpu_offload",
        [](const Configuration& c) { return strategy_of(c) == OffloadStrategy::kModelLevel; },
        [](const Configuration&) -> std::string { return "model-level offload"; },
        "set enable_distributed_layerwise_offload instead"),
    unsupported(
        "dlo_enable_runtime_cache",
        [](const Configuration& c) { return c.options.dlo_enable_runtime_cache; },
        [](const Configuration&) -> std::string { return "the runtime cache"; },
        "leave dlo_enable_runtime_cache off"),
    unsupported(
        "use_hsdp", [](const Configuration& c) { return c.parallel.use_hsdp; },
        [](const Configuration&) -> std::string { return "HSDP"; }, "leave use_hsdp off"),
    unsupported(
        "tensor_parallel_size",
        [](const Configuration& c) { return c.parallel.tensor_parallel_size != 1; },
        [](const Configuration&) -> std::string { return "tensor parallelism"; },
        "leave tensor_parallel_size at 1"),
    unsupported(
        "sequence_parallel_size",
        [](const Configuration& c) { return sequence_size(c.parallel) != 1; },
        [](const Configuration&) -> std::string { return "sequence parallelism"; },
        "leave the sequence-parallel degrees at 1"),
    unsupported(
        "ulysses_mode", [](const Configuration& c) { return c.parallel.ulysses_mode != "strict"; },
        [](const Configuration&) -> std::string { return "ulysses_mode other than strict"; },
        "leave ulysses_mode at strict"),
    unsupported(
        "pipeline_parallel_size",
        [](const Configuration& c) { return c.parallel.pipeline_parallel_size != 1; },
        [](const Configuration&) -> std::string { return "pipeline parallelism"; },
        "leave pipeline_parallel_size at 1"),
    unsupported(
        "cfg_parallel_size",
        [](const Configuration& c) { return c.parallel.cfg_parallel_size != 1; },
        [](const Configuration&) -> std::string { return "CFG parallelism"; },
        "leave cfg_parallel_size at 1"),
    unsupported(
        "vae_patch_parallel_size",
        [](const Configuration& c) { return c.parallel.vae_patch_parallel_size != 1; },
        [](const Configuration&) -> std::string { return "VAE-patch parallelism"; },
        "leave vae_patch_parallel_size at 1"),
    unsupported(
        "enable_expert_parallel",
        [](const Configuration& c) { return c.parallel.enable_expert_parallel; },
        [](const Configuration&) -> std::string { return "expert parallelism"; },
        "leave enable_expert_parallel off"),
};

}  // namespace

std::span<const Rule> unsupported_rules() {
  return kUnsupported;
}

}  // namespace dlo::config
