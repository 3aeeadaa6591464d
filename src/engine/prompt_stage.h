// Owns: PromptStage, the encoding of a request's prompt: its token ids, the memory that they enter
// by, and one call of the text encoder for each text that a request has.
// Must not own: the encoder and its weights, the states (they are operands of the sampler), when
// the stage is (worker).
// Threading: launching thread. Everything is enqueued on the compute stream; nothing waits.
// Failure: refusals for lack of memory; what TextEncoder::encode throws.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "engine/operand.h"
#include "engine/run_report.h"
#include "model/sampler.h"
#include "model/text/text_encoder.h"

namespace dlo::engine {

// Refuses (prompt_invalid) a prompt with more ids than requests.text_tokens, or one outside the
// vocabulary. Precondition: requests.has_prompt().
[[nodiscard]] Status check_prompt(const RequestSpec& requests, const model::TextGeometry& encoder);

// The ids of one request's prompt: those given, or drawn from (seed, request).
[[nodiscard]] std::vector<std::int64_t> prompt_ids(const RequestSpec& requests,
                                                   std::uint32_t request,
                                                   const model::TextGeometry& encoder);

class PromptStage {
 public:
  // Where the states of a text go.
  struct Text {
    model::PromptOf whose = model::PromptOf::kRequest;
    model::DeviceTensor states;  // [1, tokens, width]
  };

  // All passed outlive the stage. Precondition: check_prompt().
  [[nodiscard]] static Result<std::unique_ptr<PromptStage>> make(platform::Device& device,
                                                                 model::TextEncoder& encoder,
                                                                 const RequestSpec& requests,
                                                                 const std::vector<Text>& texts);

  // The request's prompt, and for its negative the empty one, which is the end token alone, each
  // filled up with the pad token. Nothing of the request before may be in flight.
  void enqueue(std::uint32_t request);

  [[nodiscard]] OperandBytes host_operand_bytes() const;

 private:
  struct Part {
    model::PromptOf whose = model::PromptOf::kRequest;
    Operand tokens;
    Operand mask;
    model::TextCall call;
  };

  PromptStage(platform::Device& device, model::TextEncoder& encoder, const RequestSpec& requests)
      : device_(device), encoder_(encoder), requests_(requests) {}
  void upload(const Part& part, const std::vector<std::int64_t>& ids);

  platform::Device& device_;
  model::TextEncoder& encoder_;
  RequestSpec requests_;
  std::vector<Part> parts_;  // enqueued encodings refer to their calls
};

}  // namespace dlo::engine
