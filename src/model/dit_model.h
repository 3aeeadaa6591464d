// Owns: DitModel, one diffusion transformer as the engine sees it, and DitCall, the operands of one
// forward. This header is free of torch.
// Must not own: weights (the backend places them and announces them through the bindings of
// spec()), schedules, requests.
//
// Threading: one launching thread. forward() only enqueues; every torch operation, embeddings and
// output included, runs inside tasks on the compute stream, in stream order. A DitCall and the
// memory that it names are touched by those tasks alone and outlive them.
// Failure: a block at its placeholder throws RunError placeholder_read on the launching thread; a
// task that throws fails the device (platform/device.h).
// Bytes: for one build and one number of intra-op threads, output bytes depend on operand and
// weight bytes alone. The number of threads may change how a reduction is split, so it is fixed
// once for all runs that are compared: launch_set_compute_threads (model/latent_ops.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "contracts/block_observer.h"
#include "contracts/parameter_table.h"
#include "model/device_tensor.h"
#include "platform/device.h"

namespace at {
class Tensor;
}

namespace dlo::model {

// Receives named intermediates of a forward, on the compute stream's thread, in the order they
// are computed: "block.0", "block.0.attn1", "temb", ... (names of the golden fixtures).
class ForwardTap {
 public:
  virtual ~ForwardTap() = default;

  // `tensor` is valid during the call and must not be written.
  virtual void see(std::string_view name, const at::Tensor& tensor) = 0;
};

// Operands of one forward; all F32. F, H, W are the latent grid, divisible by the patch size.
struct DitCall {
  DeviceTensor latents;      // [batch, in_channels, F, H, W]
  DeviceTensor timestep;     // [batch], or [batch, tokens] for one timestep a token
  DeviceTensor text_states;  // [batch, text_tokens, text_dim]
  DeviceTensor output;       // [batch, out_channels, F, H, W]; written
  ForwardTap* tap = nullptr;
};

class DitModel {
 public:
  virtual ~DitModel() = default;

  // Blocks in ring order with their bindings, and the children outside the blocks. Immutable; lives
  // as long as the model.
  [[nodiscard]] virtual const contracts::DitSpec& spec() const = 0;

  // Called around each block of every later forward; null is the resident baseline. Not owned.
  virtual void set_observer(contracts::BlockObserver* observer) = 0;

  // Enqueues one forward on the compute stream: embeddings, blocks in order, output.
  // Throws LogicError when an operand has another shape or dtype than the model wants, RunError
  // placeholder_read, and whatever the observer throws; what was enqueued before still runs.
  virtual void forward(platform::Device& device, DitCall& call) = 0;
};

}  // namespace dlo::model
