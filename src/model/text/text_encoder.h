// Owns: TextEncoder, the component that turns token ids into text states as the engine sees it, and
// TextCall, the operands of one encoding. This header is free of torch.
// Must not own: weights (whoever places them announces the place through spec()'s binding),
// prompts, a tokenizer: ids come in.
// Threading: one launching thread. encode() only enqueues; operands outlive what it enqueued.
// Failure: weights at their placeholder throw RunError placeholder_read on the launching thread; a
// task that throws fails the device (platform/device.h). Source: models.md 4.1 "Text".
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "contracts/parameter_table.h"
#include "model/device_tensor.h"
#include "model/dit_model.h"
#include "model/model_factory.h"
#include "platform/device.h"

namespace dlo::model {

// What a caller needs to know of an encoder.
struct TextGeometry {
  std::int64_t vocabulary = 0;  // token ids are below this
  std::int64_t width = 0;       // channels of a state
  std::int64_t pad_token = 0;   // behind the prompt, where the mask is 0
  std::int64_t end_token = 1;   // the whole of an empty prompt
};

// All operands are F32: ids and masks are whole numbers in it.
struct TextCall {
  DeviceTensor tokens;  // [batch, tokens], ids below the vocabulary
  DeviceTensor mask;    // [batch, tokens]: 1 is a token of the prompt, 0 what fills its row up
  DeviceTensor states;  // [batch, tokens, width]; written, rows past the mask as 0
  ForwardTap* tap = nullptr;  // "hidden.0", "position_bias.24", "last_hidden_state"
};

class TextEncoder {
 public:
  virtual ~TextEncoder() = default;

  // All its tensors as one block, with the binding that they are read through. Immutable; lives as
  // long as the encoder.
  [[nodiscard]] virtual const contracts::BlockSpec& spec() const = 0;
  [[nodiscard]] virtual const TextGeometry& geometry() const = 0;

  // Enqueues one encoding on the compute stream. Throws RunError shape_mismatch for an operand of
  // another shape before anything is enqueued, LogicError for a device that is not the one of
  // ModelOptions::device.
  virtual void encode(platform::Device& device, TextCall& call) = 0;
};

// UMT5 (transformers UMT5EncoderModel) under the names of its checkpoint, behind the name
// `options.component`. Refusals: checkpoint_invalid (a field has an impossible value),
// not_in_this_product (another feed-forward, another dtype).
[[nodiscard]] Result<std::unique_ptr<TextEncoder>> make_umt5(const nlohmann::json& config,
                                                             const ModelOptions& options);

}  // namespace dlo::model
