// Owns: UniPcSteps, the arithmetic of diffusers' UniPC sampler (order 2, bh2, flow prediction,
// lower order at the end) on host values: what made the pipeline fixtures of Wan 2.2. The product
// samples by flow-match Euler; this is here to hold its transformers to those fixtures. Must not
// own: the table of sigmas (the fixture's), forwards.
#pragma once

#include <cstddef>
#include <vector>

namespace dlo::golden {

class UniPcSteps {
 public:
  // One more sigma than steps, the last 0.
  explicit UniPcSteps(std::vector<float> sigmas) : sigmas_(std::move(sigmas)) {}

  // The sample behind the next step, from the sample before it and the velocity there.
  [[nodiscard]] std::vector<float> step(const std::vector<float>& sample,
                                        const std::vector<float>& velocity);

 private:
  // Both of one interval from step `from` to `to`: x and what it is moved along.
  struct Interval {
    std::size_t from = 0;
    std::size_t to = 0;
    std::size_t order = 1;
  };
  [[nodiscard]] double lambda(std::size_t index) const;
  [[nodiscard]] double ratio_behind(const Interval& interval) const;
  // x moved from clean estimate m0 over the interval, plus `weighted` times what is added.
  [[nodiscard]] std::vector<float> move(const Interval& interval, const std::vector<float>& x,
                                        const std::vector<float>& residual) const;
  [[nodiscard]] std::vector<float> correct(const std::vector<float>& clean) const;
  [[nodiscard]] std::vector<float> predict(const std::vector<float>& sample) const;

  std::vector<float> sigmas_;
  std::size_t index_ = 0;
  std::size_t order_ = 1;                  // of the last prediction
  std::vector<std::vector<float>> clean_;  // estimates, newest last
  std::vector<float> last_sample_;
};

}  // namespace dlo::golden
