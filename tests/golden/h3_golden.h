// Owns: H3Golden, the runner of the golden folder of MiniMax-H3 in its native layout: it places the
// checkpoint's weights, both rings, and computes the forward and the sampling loop.
// Must not own: expectations or tolerances (comparison.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "model/minimax_h3/packed_layout.h"
#include "tests/golden/golden_model.h"

namespace dlo::golden {

class H3Golden {
 public:
  // `folder` holds native/ and inputs.safetensors.
  [[nodiscard]] static Result<std::unique_ptr<H3Golden>> open(const platform::FileSystem& files,
                                                              const platform::Path& folder,
                                                              const model::ModelOptions& options);

  [[nodiscard]] GoldenTensors compute_forward();
  // Latents after each step and both tables of timesteps, named "loop.".
  [[nodiscard]] GoldenTensors compute_loop(std::size_t steps);

  // The layout as the inputs state it.
  [[nodiscard]] model::PackedLayout stated_layout() const;
  [[nodiscard]] const GoldenModel& weights() const { return *placed_; }

 private:
  H3Golden() = default;

  GoldenTensors inputs_;
  test::InlineDevice device_;
  std::unique_ptr<GoldenModel> placed_;
  std::shared_ptr<const model::PackedLayout> layout_;
};

}  // namespace dlo::golden
