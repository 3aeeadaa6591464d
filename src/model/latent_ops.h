// Owns: the small operations on latents between two forwards, each enqueued on the compute stream:
// filling a tensor, classifier-free guidance, the Euler step. Free of torch.
// Must not own: the schedule (schedulers/), buffers, or the order of forwards (engine).
// Threading: launching thread; operands are touched by the enqueued task alone and outlive it.
// Failure: shapes or dtypes that differ throw LogicError on the launching thread.
#pragma once

#include "model/device_tensor.h"
#include "platform/device.h"

namespace dlo::model {

// Fixes the number of intra-op threads of torch on the thread that runs the compute stream (the
// setting is per thread). The first operation of a run.
void launch_set_compute_threads(platform::Device& device, int thread_count);

// Every element of `tensor` (F32) becomes `value`: the timestep of a step.
void launch_fill(platform::Device& device, const DeviceTensor& tensor, float value);

// conditional = unconditional + scale * (conditional - unconditional), in place, F32.
void launch_guidance(platform::Device& device, const DeviceTensor& conditional,
                     const DeviceTensor& unconditional, float scale);

// latents += delta_sigma * velocity, in place, F32 (schedulers/flow_match_euler.h).
void launch_euler_step(platform::Device& device, const DeviceTensor& latents,
                       const DeviceTensor& velocity, float delta_sigma);

struct BlendStep {
  float noise_share = 0.0F;
  float ratio = 0.0F;
};

// latents = ratio * latents + (1 - ratio) * (latents + noise_share * velocity), in place, F32
// (schedulers/h3_schedule.h).
void launch_blend_step(platform::Device& device, const DeviceTensor& latents,
                       const DeviceTensor& velocity, const BlendStep& step);

}  // namespace dlo::model
