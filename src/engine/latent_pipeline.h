// Owns: LatentPipeline, the serving of one request after another: the memory of a sampler's
// operands, their seeded values or encoded prompts in, its steps enqueued, the digests of its
// results out.
// Must not own: weights, transfers, the loop of a family (model/sampler.h), the choice of requests
// (engine/request_wave.h).
// Threading: launching thread. Everything is enqueued on the compute stream; run() waits once, for
// the output. All buffers are made by make() and reused by every request.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/operand.h"
#include "engine/run_report.h"
#include "model/dit_pipeline.h"
#include "platform/device.h"

namespace dlo::engine {

class LatentPipeline {
 public:
  // `device` and the transformers of `model` outlive the pipeline. Codes: invalid_value (a grid
  // that the model refuses, no steps), device_out_of_memory, host_out_of_memory.
  [[nodiscard]] static Result<std::unique_ptr<LatentPipeline>> make(platform::Device& device,
                                                                    const model::DitPipeline& model,
                                                                    const RequestSpec& requests);

  ~LatentPipeline();
  LatentPipeline(const LatentPipeline&) = delete;
  LatentPipeline& operator=(const LatentPipeline&) = delete;

  // Enqueues the encoding of the prompt of request `request`, which run() then reads. Precondition:
  // requests have prompts, and the encoder's weights are on the device until this has completed.
  void encode_prompt(std::uint32_t request);

  // Runs request `request` and returns the SHA-256 of its final latents; of several results "name
  // SHA-256" each, joined by ", ". `timeout` bounds the wait for the output. Throws RunError from
  // the model or its observer; codes of the device otherwise.
  [[nodiscard]] Result<std::string> run(std::uint32_t request, Nanoseconds timeout);

  // Host memory of the operands' twins: not weights, so not part of a mode's promise.
  [[nodiscard]] OperandBytes host_operand_bytes() const;

  // Forwards one by one, for measurements: without guidance, at one timestep, operands unchanged
  // between them. Everything is enqueued; nothing waits.
  void prepare_forwards(std::uint32_t request, double timestep);
  void enqueue_forward();
  // The outputs of the forward enqueued last, into host twin 0 or 1; readable once an event behind
  // it has completed.
  void enqueue_output(std::size_t twin);
  [[nodiscard]] ConstByteSpan output(std::size_t twin) const;

  // Forwards of one request by transformer of the model.
  [[nodiscard]] std::vector<std::uint64_t> forwards_per_request() const;

 private:
  struct State;
  explicit LatentPipeline(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace dlo::engine
