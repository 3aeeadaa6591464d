// Owns: Sampler, the denoising loop of one request as the engine sees it: which operands it has,
// what one step enqueues, which results it leaves. One implementation a family. Free of torch.
// Must not own: memory or values of operands (the engine allocates and seeds them), weights, the
// choice of requests.
// Threading: launching thread. Steps only enqueue on the compute stream; operands outlive what was
// enqueued. Failure: what DitModel::forward throws.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/device_tensor.h"
#include "platform/device.h"

namespace dlo::model {

// What a family makes a loop of.
struct SampleRequest {
  std::size_t steps = 0;  // of denoising, at least 1
  double guidance_scale = 1.0;
  std::array<std::int64_t, 3> latent_grid = {};  // frames, height, width
  std::int64_t text_tokens = 0;
};

enum class OperandRole : std::uint8_t {
  kInput,          // seeded once a request, then read
  kResult,         // seeded once a request, worked on in place; read when the last step is done
  kForwardOutput,  // of the last forward
  kScratch,
};

// Whose text states an input holds, where a request brings a prompt.
enum class PromptOf : std::uint8_t { kNobody, kRequest, kNegative };

struct SampleOperand {
  std::string name;  // of a result: what its digest is called
  Shape shape;       // F32
  OperandRole role = OperandRole::kInput;
  PromptOf prompt = PromptOf::kNobody;
};

class Sampler {
 public:
  virtual ~Sampler() = default;

  [[nodiscard]] virtual const std::vector<SampleOperand>& operands() const = 0;

  // Memory for every operand, in the order of operands(); once, before anything is enqueued.
  virtual void bind(const std::vector<DeviceTensor>& tensors) = 0;

  [[nodiscard]] virtual std::size_t step_count() const = 0;

  // Precondition: step < step_count(); steps of a request are enqueued in order.
  virtual void enqueue_step(platform::Device& device, std::size_t step) = 0;

  // Forwards of one request by transformer of the pipeline.
  [[nodiscard]] virtual std::vector<std::uint64_t> forwards_per_request() const = 0;

  // For measurements: forwards of the first transformer one by one, at one time of the schedule,
  // operands unchanged between them. `timestep` is of 1000, 1000 pure noise.
  virtual void enqueue_time(platform::Device& device, double timestep) = 0;
  virtual void enqueue_forward(platform::Device& device) = 0;
};

}  // namespace dlo::model
