// Owns: FluxGolden, the runner of one golden folder of a FLUX.1 transformer: it places the
// checkpoint's weights and computes what the inputs ask for: a forward per timestep and the
// pipeline's denoising loop.
// Must not own: expectations or tolerances (comparison.h).
// A forward is run for each input "P.timestep" (P may be empty); its intermediates are named with P
// in front. The image grid is read off img_ids.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "model/dit_pipeline.h"
#include "tests/golden/golden_model.h"

namespace dlo::golden {

class FluxGolden {
 public:
  // `folder` holds checkpoint/ and inputs.safetensors.
  [[nodiscard]] static Result<std::unique_ptr<FluxGolden>> open(const platform::FileSystem& files,
                                                                const platform::Path& folder,
                                                                const model::ModelOptions& options);

  // The forwards, then the loop of `pipeline_steps`.
  [[nodiscard]] GoldenTensors compute(std::size_t pipeline_steps);
  // The forward without prefix alone.
  [[nodiscard]] GoldenTensors compute_forward();

  // For changes between two forwards.
  [[nodiscard]] GoldenTensors& inputs() { return inputs_; }
  [[nodiscard]] const GoldenModel& weights() const { return *placed_; }

 private:
  FluxGolden() = default;

  void run_forward(const std::string& prefix, GoldenTensors& out);
  void run_pipeline(std::size_t steps, GoldenTensors& out);
  [[nodiscard]] std::array<std::int64_t, 3> token_grid(const std::string& prefix) const;

  nlohmann::json scheduler_;
  GoldenTensors inputs_;
  test::InlineDevice device_;
  std::unique_ptr<GoldenModel> placed_;
};

}  // namespace dlo::golden
