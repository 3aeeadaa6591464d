// Owns: WanGolden, the runner of one golden folder of a Wan transformer: it reads shapes from
// checkpoint/transformer/config.json, places the checkpoint's weights, and computes what the inputs
// ask for: a forward per timestep, and the Euler pipeline.
// Must not own: expectations or tolerances (comparison.h), or any shape.
//
// A forward is run for each input "P.timestep" (P may be empty) with "P.latents" and
// "P.encoder_hidden_states", each falling back to the name without P; its intermediates are named
// with P in front. "pipeline.latents" with a folder scheduler_euler makes "euler_pipeline.*".
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "model/model_factory.h"
#include "tests/golden/golden_model.h"
#include "tests/golden/golden_tensors.h"

namespace dlo::golden {

// In which dtype the model keeps its weights.
enum class Storage : std::uint8_t {
  kAsOnDisk,  // BF16 where the checkpoint has it; the modules kept in fp32 as on disk
  kWidened,   // all F32
};

class WanGolden {
 public:
  // `folder` holds checkpoint/transformer and inputs.safetensors. Refusals name the file.
  [[nodiscard]] static Result<std::unique_ptr<WanGolden>> open(const platform::FileSystem& files,
                                                               const platform::Path& folder,
                                                               const model::ModelOptions& options,
                                                               Storage storage);

  // Everything that the inputs ask for, by expected name. `pipeline_steps` is the length of the
  // Euler pipeline; 0 leaves it out. Throws RunError when the model or the device refuses.
  [[nodiscard]] GoldenTensors compute(std::size_t pipeline_steps);
  // The forward without prefix alone.
  [[nodiscard]] GoldenTensors compute_forward();

  [[nodiscard]] const contracts::DitSpec& spec() const { return placed_->model().spec(); }
  [[nodiscard]] const GoldenModel& weights() const { return *placed_; }

 private:
  WanGolden() = default;

  void run_forward(const std::string& prefix, GoldenTensors& out);
  void run_pipeline(std::size_t steps, GoldenTensors& out);
  [[nodiscard]] const GoldenTensor& input(const std::string& prefix, const std::string& name) const;

  std::string scheduler_config_;  // JSON text; empty without a scheduler_euler folder
  GoldenTensors inputs_;
  test::InlineDevice device_;
  std::unique_ptr<GoldenModel> placed_;
};

}  // namespace dlo::golden
