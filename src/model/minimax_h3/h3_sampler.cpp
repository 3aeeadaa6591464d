#include "model/minimax_h3/h3_sampler.h"

#include <utility>

#include "base/error.h"
#include "model/latent_ops.h"
#include "model/minimax_h3/packed_layout.h"

namespace dlo::model {

namespace {

// Positions in operands().
enum : std::size_t { kVideo, kAudio, kTimestep, kText, kVideoVelocity, kAudioVelocity };

// Timesteps of measurements are of this many and count from pure noise down.
constexpr double kTrainTimesteps = 1000.0;

std::int64_t rows(const std::vector<std::int64_t>& of) {
  return static_cast<std::int64_t>(of.size());
}

// Rows [first, first + count) of a [1, rows, channels] tensor.
DeviceTensor row_range(const DeviceTensor& tensor, std::int64_t first, std::int64_t count) {
  const std::int64_t channels = tensor.shape[2];
  const auto bytes = [channels](std::int64_t of) {
    return static_cast<std::uint64_t>(of * channels) * sizeof(float);
  };
  return {tensor.span.subspan(bytes(first), bytes(count)), tensor.dtype, {1, count, channels}};
}

// Element `index` of a [count] tensor.
DeviceTensor element(const DeviceTensor& tensor, std::int64_t index) {
  return {tensor.span.subspan(static_cast<std::uint64_t>(index) * sizeof(float), sizeof(float)),
          tensor.dtype,
          {1}};
}

}  // namespace

H3Sampler::H3Sampler(DitModel& model, const H3Shifts& shifts, std::size_t steps,
                     std::shared_ptr<const PackedLayout> layout, std::int64_t conditioning_rows)
    : model_(model),
      conditioning_rows_(conditioning_rows),
      video_(make_h3_schedule(shifts.video, steps)),
      audio_(make_h3_schedule(shifts.audio, steps)) {
  const auto& geometry = model.geometry();
  const Shape video = {1, rows(layout->video_rows), geometry.in_channels};
  const Shape audio = {1, rows(layout->audio_rows), geometry.audio_channels};
  operands_ = {
      {"video", video, OperandRole::kResult},
      {"audio", audio, OperandRole::kResult},
      {"timestep", {H3Times::kCount}, OperandRole::kScratch},
      {"text", {1, rows(layout->text_rows), geometry.text_dim}, OperandRole::kInput},
      {"video velocity", video, OperandRole::kForwardOutput},
      {"audio velocity", audio, OperandRole::kForwardOutput},
  };
  call_.layout = std::move(layout);
}

void H3Sampler::bind(const std::vector<DeviceTensor>& tensors) {
  require(tensors.size() == operands_.size(), "every operand needs its memory");
  call_.latents = tensors[kVideo];
  call_.audio = tensors[kAudio];
  call_.timestep = tensors[kTimestep];
  call_.text_states = tensors[kText];
  call_.output = tensors[kVideoVelocity];
  call_.audio_output = tensors[kAudioVelocity];
}

void H3Sampler::fill_times(platform::Device& device, float video, float audio) {
  launch_fill(device, element(call_.timestep, H3Times::kVideo), video);
  launch_fill(device, element(call_.timestep, H3Times::kAudio), audio);
  launch_fill(device, element(call_.timestep, H3Times::kConditioning), 1.0F);
}

void H3Sampler::enqueue_step(platform::Device& device, std::size_t step) {
  fill_times(device, video_.timesteps[step], audio_.timesteps[step]);
  model_.forward(device, call_);
  const std::int64_t target = call_.latents.shape[1] - conditioning_rows_;
  launch_blend_step(device, row_range(call_.latents, conditioning_rows_, target),
                    row_range(call_.output, conditioning_rows_, target),
                    {video_.noise_share(step), video_.ratio(step)});
  launch_blend_step(device, call_.audio, call_.audio_output,
                    {audio_.noise_share(step), audio_.ratio(step)});
}

std::vector<std::uint64_t> H3Sampler::forwards_per_request() const {
  return {step_count()};
}

void H3Sampler::enqueue_time(platform::Device& device, double timestep) {
  const auto time = static_cast<float>(1.0 - timestep / kTrainTimesteps);
  fill_times(device, time, time);
}

void H3Sampler::enqueue_forward(platform::Device& device) {
  model_.forward(device, call_);
}

}  // namespace dlo::model
