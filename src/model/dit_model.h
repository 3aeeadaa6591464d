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
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
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

// What a caller needs to size the operands of a forward.
struct DitGeometry {
  std::int64_t in_channels = 0;
  std::int64_t out_channels = 0;
  std::int64_t text_dim = 0;
  std::array<std::int64_t, 3> patch_size = {1, 1, 1};  // frames, height, width
  std::int64_t max_positions = 0;                      // patches along one axis, at most
  std::int64_t pooled_dim = 0;                         // 0: the family has no pooled text
  bool embeds_guidance = false;                        // guidance is an operand
  std::int64_t audio_channels = 0;                     // 0: the family has no audio

  // Refuses (invalid_value) a latent grid that the patches do not divide, or that has more
  // positions along an axis than the model knows.
  [[nodiscard]] Status check_grid(const std::array<std::int64_t, 3>& grid) const;
  // Tokens of one latent; precondition: check_grid.
  [[nodiscard]] std::int64_t token_count(const std::array<std::int64_t, 3>& grid) const;
};

struct PackedLayout;  // model/minimax_h3/packed_layout.h

// Operands of one forward; all F32. F, H, W are the latent grid, divisible by the patch size. A
// family reads those that it has, and refuses one that is missing as a mismatch of its shape:
//            Wan                               FLUX.1                       MiniMax-H3
//   latents  [batch, in_channels, F, H, W]     [batch, tokens, channels]    [1, video rows, ...]
//   timestep [batch], or [batch, tokens]; of   [batch], of 1, 1 is noise    [times], of 1, 0 is
//            1000, 1000 is noise                                            noise
//   text     [batch, text_tokens, text_dim]    as Wan                       [1, text rows,
//   text_dim] output   as latents, out_channels          as latents                   as latents
struct DitCall {
  DeviceTensor latents;
  DeviceTensor timestep;
  DeviceTensor text_states;
  DeviceTensor output;  // written
  ForwardTap* tap = nullptr;
  // FLUX.1.
  DeviceTensor pooled_text = {};                // [batch, pooled_dim]
  DeviceTensor guidance = {};                   // [batch], where the model embeds it
  std::array<std::int64_t, 3> token_grid = {};  // tokens along frames, height and width
  // MiniMax-H3.
  DeviceTensor audio = {};                               // [1, audio rows, audio channels]
  DeviceTensor audio_output = {};                        // as audio; written
  std::shared_ptr<const PackedLayout> layout = nullptr;  // which row of the sequence is what
};

// Bytes: for one build and one number of intra-op threads, output bytes depend on operand and
// weight bytes alone. The number of threads may change how a reduction is split, so it is fixed
// once for all runs that are compared: launch_set_compute_threads (model/latent_ops.h).
class DitModel {
 public:
  virtual ~DitModel() = default;

  // Blocks in ring order with their bindings, and the children outside the blocks. Immutable; lives
  // as long as the model.
  [[nodiscard]] virtual const contracts::DitSpec& spec() const = 0;

  [[nodiscard]] virtual const DitGeometry& geometry() const = 0;

  // Called around each block of every later forward; null is the resident baseline. Not owned.
  virtual void set_observer(contracts::BlockObserver* observer) = 0;

  // Rings of children that are large enough for one of their own, each walked once a forward, in
  // this order and before the blocks of spec(); the `parent` of each is spec().name. Same lifetime
  // as spec(). None for most models.
  [[nodiscard]] virtual std::vector<const contracts::DitSpec*> child_rings() const { return {}; }
  // As set_observer(), for one of child_rings(). Throws LogicError for a child that is not there.
  virtual void set_child_observer(std::size_t child, contracts::BlockObserver* observer);

  // Enqueues one forward on the compute stream: embeddings, blocks in order, output.
  // Throws RunError invalid_value (grid) or shape_mismatch (an operand has another shape, dtype or
  // size than the model wants) before anything is enqueued, RunError placeholder_read, and whatever
  // the observer throws; what was enqueued before still runs. Throws LogicError for a device that
  // is not the one of ModelOptions::device. On CUDA the launching thread's TorchSession is active
  // (model/torch_session.h), and no forward but the first of a grid waits for the device.
  virtual void forward(platform::Device& device, DitCall& call) = 0;
};

}  // namespace dlo::model
