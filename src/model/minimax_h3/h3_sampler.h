// Owns: H3Sampler, the denoising loop of MiniMax-H3: one forward a step over one packed sequence,
// video and audio each on a schedule of their own, the conditioning frame fixed. Free of torch.
// Must not own: what Sampler must not. Threading and failure: those of Sampler.
// Source: models.md 4.3. Text comes as seeded rows; latents are the result.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/dit_model.h"
#include "model/sampler.h"
#include "model/schedulers/h3_schedule.h"

namespace dlo::model {

struct H3Shifts {
  double video = 12.0;
  double audio = 3.0;
};

class H3Sampler final : public Sampler {
 public:
  // `model` outlives the sampler; `layout` has `conditioning_rows` first among its video rows.
  H3Sampler(DitModel& model, const H3Shifts& shifts, std::size_t steps,
            std::shared_ptr<const PackedLayout> layout, std::int64_t conditioning_rows);

  [[nodiscard]] const std::vector<SampleOperand>& operands() const override { return operands_; }
  void bind(const std::vector<DeviceTensor>& tensors) override;
  [[nodiscard]] std::size_t step_count() const override { return video_.timesteps.size(); }
  void enqueue_step(platform::Device& device, std::size_t step) override;
  [[nodiscard]] std::vector<std::uint64_t> forwards_per_request() const override;
  void enqueue_time(platform::Device& device, double timestep) override;
  void enqueue_forward(platform::Device& device) override;

  [[nodiscard]] const H3Schedule& video_schedule() const { return video_; }
  [[nodiscard]] const H3Schedule& audio_schedule() const { return audio_; }

 private:
  // The timesteps of the next forward.
  void fill_times(platform::Device& device, float video, float audio);

  DitModel& model_;
  std::int64_t conditioning_rows_;
  H3Schedule video_;
  H3Schedule audio_;
  std::vector<SampleOperand> operands_;
  DitCall call_;  // enqueued forwards refer to it
};

}  // namespace dlo::model
