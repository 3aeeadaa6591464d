#include "harness/cli/predict_arguments.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "host_weights/seeded_checkpoint/presets.h"

namespace dlo::harness {
namespace {

void add_machine(CLI::App& app, PredictArguments& arguments) {
  constexpr const char* kGroup = "Machine";
  app.add_option("--device", arguments.device, "Published device: h200, b300 or l20x")
      ->type_name("NAME")
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--calibration", arguments.calibration, "Measured figures (JSON), over --device")
      ->type_name("FILE")
      ->group(kGroup);
  app.add_option("--ranks", arguments.ranks, "Ranks of the node, all copying at once")
      ->type_name("N")
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--group", arguments.group,
                 "Ranks that share one copy of the weights with all_gather (default: all)")
      ->type_name("N")
      ->group(kGroup);
}

void add_model(CLI::App& app, PredictArguments& arguments) {
  constexpr const char* kGroup = "Model";
  app.add_option("--preset", arguments.preset,
                 fmt::format("{}, in BF16", fmt::join(host_weights::preset_names(), ", ")))
      ->type_name("NAME")
      ->group(kGroup);
  app.add_option("--blocks", arguments.blocks, "Number of blocks, if not the preset's own")
      ->type_name("N")
      ->group(kGroup);
  app.add_option("--block-bytes", arguments.block_bytes, "Bytes of a block, in place of --preset")
      ->type_name("BYTES")
      ->group(kGroup);
  app.add_option(
         "--compute-ms", arguments.compute_ms,
         "Compute of one block alone; a token refiner's blocks are taken to compute nothing")
      ->type_name("MS")
      ->group(kGroup);
  app.add_option("--tokens", arguments.tokens,
                 "Video tokens a rank, in place of --compute-ms: the preset's operations at the "
                 "calibrated rate")
      ->type_name("N")
      ->group(kGroup);
  app.add_option("--other-ms", arguments.other_ms, "Compute of a forward outside its blocks")
      ->type_name("MS")
      ->capture_default_str()
      ->group(kGroup);
}

void add_transfer(CLI::App& app, PredictArguments& arguments) {
  constexpr const char* kGroup = "Transfer";
  app.add_option("--transfer", arguments.transfer, "resident, rank_local or all_gather")
      ->type_name("NAME")
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--prefetch-depth", arguments.prefetch_depth, "Blocks loaded ahead")
      ->type_name("N")
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--chunk-bytes", arguments.chunk_bytes,
                 "Bytes per rank and chunk, a multiple of 256; 0: the whole block")
      ->type_name("BYTES")
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--input-slots", arguments.input_slots, "AllGather input slots")
      ->type_name("N")
      ->capture_default_str()
      ->group(kGroup);
}

}  // namespace

void add_predict_options(CLI::App& app, PredictArguments& arguments) {
  add_machine(app, arguments);
  add_model(app, arguments);
  add_transfer(app, arguments);
  app.add_option("--forwards", arguments.forwards, "Forwards to time, after two of warm-up")
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace dlo::harness
