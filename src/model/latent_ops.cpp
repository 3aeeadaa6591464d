#include "model/latent_ops.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <utility>

#include "base/error.h"
#include "model/torch_task.h"
#include "model/torch_views.h"

namespace dlo::model {

namespace {

const platform::OpLabel kLabel{};  // Site::kModel

void require_pair(const DeviceTensor& a, const DeviceTensor& b) {
  require(a.shape == b.shape && a.dtype == DType::kF32 && b.dtype == DType::kF32,
          "latent operations want two F32 tensors of one shape");
}

template <typename Operation>
void launch(platform::Device& device, Operation operation) {
  device.launch(
      platform::StreamKind::kCompute,
      [operation = std::move(operation)] { run_torch_task(kLabel, operation); }, kLabel);
}

}  // namespace

void launch_set_compute_threads(platform::Device& device, int thread_count) {
  require(thread_count >= 1, "torch needs at least one thread");
  launch(device, [thread_count] { at::set_num_threads(thread_count); });
}

void launch_fill(platform::Device& device, const DeviceTensor& tensor, float value) {
  require(tensor.dtype == DType::kF32, "launch_fill wants an F32 tensor");
  launch(device, [view = as_torch(tensor, compute_device(device)), value] { view.fill_(value); });
}

void launch_guidance(platform::Device& device, const DeviceTensor& conditional,
                     const DeviceTensor& unconditional, float scale) {
  require_pair(conditional, unconditional);
  const ComputeDevice where = compute_device(device);
  launch(device, [c = as_torch(conditional, where), u = as_torch(unconditional, where), scale] {
    c.sub_(u).mul_(scale).add_(u);
  });
}

void launch_euler_step(platform::Device& device, const DeviceTensor& latents,
                       const DeviceTensor& velocity, float delta_sigma) {
  require_pair(latents, velocity);
  const ComputeDevice where = compute_device(device);
  launch(device, [x = as_torch(latents, where), v = as_torch(velocity, where), delta_sigma] {
    x.add_(v, delta_sigma);
  });
}

void launch_blend_step(platform::Device& device, const DeviceTensor& latents,
                       const DeviceTensor& velocity, const BlendStep& step) {
  require_pair(latents, velocity);
  const ComputeDevice where = compute_device(device);
  launch(device, [x = as_torch(latents, where), v = as_torch(velocity, where), step] {
    const at::Tensor clean = x + v * step.noise_share;
    x.mul_(step.ratio).add_(clean * (1.0F - step.ratio));
  });
}

}  // namespace dlo::model
