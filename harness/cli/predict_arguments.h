// Owns: PredictArguments, what `dlo predict` is asked: machine, topology, model; and its flags.
// Must not own: defaults of the hot path beyond the product's own, meaning (predict_command.h).
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/offload_options.h"

namespace CLI {
class App;
}

namespace dlo::harness {

struct PredictArguments {
  std::string device = "h200";
  std::string calibration;  // file; over `device`
  std::uint32_t ranks = 1;
  std::uint32_t group = 0;  // 0: all ranks
  std::string transfer = "rank_local";
  std::string preset;
  std::optional<std::uint32_t> blocks;  // if not the preset's own
  std::optional<std::uint64_t> block_bytes;
  std::optional<double> compute_ms;  // a block
  std::optional<std::uint64_t> tokens;
  double other_ms = 0;  // a forward, outside the blocks
  std::int64_t prefetch_depth = 1;
  std::int64_t chunk_bytes = config::kDefaultChunkBytes;
  std::int64_t input_slots = 2;
  std::uint32_t forwards = 5;
};

// Adds every flag but --json. `arguments` outlives `app`.
void add_predict_options(CLI::App& app, PredictArguments& arguments);

}  // namespace dlo::harness
