#include "harness/cli/plan_arguments.h"

#include <CLI/CLI.hpp>

namespace dlo::harness {
namespace {

void add_topology(CLI::App& app, config::ParallelConfig& parallel) {
  constexpr const char* kGroup = "Topology";
  const auto add = [&](const char* flag, std::int64_t& value, const char* help) {
    app.add_option(flag, value, help)
        ->check(CLI::PositiveNumber)
        ->type_name("N")
        ->capture_default_str()
        ->group(kGroup);
  };
  add("--dp", parallel.data_parallel_size, "Data parallel replicas");
  add("--tp", parallel.tensor_parallel_size, "Tensor parallel ranks");
  add("--ulysses", parallel.ulysses_degree, "Sequence parallel ranks by heads");
  add("--ring", parallel.ring_degree, "Sequence parallel ranks by ring attention");
  app.add_flag("--hsdp", parallel.use_hsdp, "Shard the weights by HSDP")->group(kGroup);
}

void add_model(CLI::App& app, PlanArguments& arguments) {
  constexpr const char* kGroup = "Model";
  app.add_option("--runtime-dtype", arguments.runtime_dtype, "Weights at run time: F32 or BF16")
      ->check(CLI::IsMember({"F32", "BF16"}))
      ->capture_default_str()
      ->group(kGroup);
  app.add_flag("--no-fp32-modules", arguments.all_in_runtime_dtype,
               "With BF16: no module stays F32")
      ->group(kGroup);
  app.add_flag("--fused-projections", arguments.fused_projections,
               "q, k, v of one input are one tensor")
      ->group(kGroup);
  app.add_flag("--online-quantization", arguments.online_quantization,
               "A quantization method makes the weights while loading")
      ->group(kGroup);
}

void add_offload(CLI::App& app, PlanArguments& arguments) {
  constexpr const char* kGroup = "Offload";
  auto& options = arguments.options;
  app.add_flag("--no-offload", arguments.no_offload, "The whole model stays on the device")
      ->group(kGroup);
  app.add_flag_callback(
         "--no-allgather", [&options] { options.dlo_use_allgather = false; },
         "Every rank streams whole blocks")
      ->group(kGroup);
  app.add_flag_callback(
         "--no-checkpoint-mmap", [&options] { options.dlo_checkpoint_mmap = false; },
         "Load the checkpoint even where it could be mapped")
      ->group(kGroup);
  app.add_option("--resident-layers", options.dlo_resident_layers, "Leading blocks that stay")
      ->type_name("N")
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--prefetch-depth", options.dlo_prefetch_depth, "Blocks loaded ahead")
      ->type_name("N")
      ->capture_default_str()
      ->group(kGroup);
}

}  // namespace

void add_plan_options(CLI::App& app, PlanArguments& arguments) {
  app.add_option("--checkpoint", arguments.checkpoint, "A folder in diffusers' layout")
      ->required()
      ->type_name("DIR");
  add_topology(app, arguments.parallel);
  add_model(app, arguments);
  add_offload(app, arguments);
}

}  // namespace dlo::harness
