#include "engine/latent_pipeline.h"

#include <fmt/format.h>

#include <vector>

#include "base/error.h"
#include "base/sha256.h"
#include "base/value_generator.h"
#include "engine/prompt_stage.h"
#include "platform/clock.h"

namespace dlo::engine {

using model::DeviceTensor;
using model::OperandRole;
using model::SampleOperand;
using platform::OpLabel;
using platform::Site;
using platform::StreamKind;

namespace {

using HostBuffers = std::vector<std::unique_ptr<platform::HostBuffer>>;

bool has_twin(OperandRole role) {
  return role == OperandRole::kInput || role == OperandRole::kResult;
}

}  // namespace

struct LatentPipeline::State {
  platform::Device& device;
  RequestSpec requests;
  std::unique_ptr<model::Sampler> sampler;
  platform::EventId output_ready;
  std::vector<Operand> operands;         // of the sampler, in order
  std::unique_ptr<PromptStage> prompts;  // null: text states are seeded
  HostBuffers output_twins;              // each holds all outputs of one forward, back to back

  // Calls `visit(operand, asked)` for every operand that `wanted(role)` holds for.
  template <typename Wanted, typename Visit>
  void for_each(const Wanted& wanted, const Visit& visit) {
    const auto& asked = sampler->operands();
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (wanted(asked[i].role)) {
        visit(operands[i], asked[i]);
      }
    }
  }

  // The encoder fills it.
  [[nodiscard]] bool is_encoded(const SampleOperand& asked) const {
    return requests.has_prompt() && asked.prompt != model::PromptOf::kNobody;
  }

  Status make_prompts(model::TextEncoder& encoder) {
    std::vector<PromptStage::Text> texts;
    const auto& asked = sampler->operands();
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (is_encoded(asked[i])) {
        texts.push_back({asked[i].prompt, operands[i].tensor});
      }
    }
    auto made = PromptStage::make(device, encoder, requests, texts);
    if (!made.ok()) {
      return made.refusal();
    }
    prompts = std::move(made).value();
    return {};
  }

  Status make_operands() {
    std::uint64_t output_bytes = 0;
    for (const auto& asked : sampler->operands()) {
      const bool twin = has_twin(asked.role) && !is_encoded(asked);
      auto operand = make_operand(device, asked.shape, twin ? HostTwin::kPresent : HostTwin::kNone);
      if (!operand.ok()) {
        return operand.refusal();
      }
      output_bytes += asked.role == OperandRole::kForwardOutput ? operand->tensor.span.bytes : 0;
      operands.push_back(std::move(operand).value());
    }
    for (int twin = 0; twin < 2; ++twin) {
      auto made = make_twin(device, output_bytes);
      if (!made.ok()) {
        return made.refusal();
      }
      output_twins.push_back(std::move(made).value());
    }
    std::vector<DeviceTensor> tensors;
    for (const auto& operand : operands) {
      tensors.push_back(operand.tensor);
    }
    sampler->bind(tensors);
    return {};
  }

  void upload_inputs(std::uint32_t request) {
    for_each(has_twin, [&](const Operand& operand, const SampleOperand& asked) {
      if (operand.host == nullptr) {
        return;
      }
      const ValueGenerator values(fmt::format("request {} {}", request, asked.name), requests.seed);
      values.fill_normal(operand.host->span(), DType::kF32, 0, 0.0F, 1.0F);
      device.copy_to_device(StreamKind::kCompute, operand.tensor.span, operand.host->span(),
                            OpLabel{.site = Site::kModel});
    });
  }
};

LatentPipeline::LatentPipeline(std::unique_ptr<State> state) : state_(std::move(state)) {}
LatentPipeline::~LatentPipeline() = default;

Result<std::unique_ptr<LatentPipeline>> LatentPipeline::make(platform::Device& device,
                                                             const model::DitPipeline& model,
                                                             const RequestSpec& requests) {
  auto sampler = model.make_sampler(
      {.steps = requests.steps,
       .guidance_scale = requests.guidance_scale,
       .latent_grid = {requests.latent_frames, requests.latent_height, requests.latent_width},
       .text_tokens = requests.text_tokens});
  if (!sampler.ok()) {
    return sampler.refusal();
  }
  auto state = std::unique_ptr<State>(
      new State{device, requests, std::move(sampler).value(), device.create_event(), {}, {}, {}});
  if (auto status = state->make_operands(); !status.ok()) {
    return status.refusal();
  }
  if (requests.has_prompt()) {
    require(model.text_encoder != nullptr, "requests have prompts and the model has no encoder");
    if (auto status = state->make_prompts(*model.text_encoder); !status.ok()) {
      return status.refusal();
    }
  }
  return std::unique_ptr<LatentPipeline>(new LatentPipeline(std::move(state)));
}

Result<std::string> LatentPipeline::run(std::uint32_t request, Nanoseconds timeout) {
  auto& s = *state_;
  s.upload_inputs(request);
  for (std::size_t step = 0; step < s.sampler->step_count(); ++step) {
    s.sampler->enqueue_step(s.device, step);
  }
  const OpLabel label{.site = Site::kOutput};
  const auto is_result = [](OperandRole role) { return role == OperandRole::kResult; };
  s.for_each(is_result, [&](const Operand& operand, const SampleOperand& /*asked*/) {
    s.device.copy_to_host(StreamKind::kCompute, operand.host->span(), operand.tensor.span, label);
  });
  s.device.record(s.output_ready, StreamKind::kCompute, label);
  const auto deadline = Deadline::after(s.device.clock().now(), timeout);
  if (auto status = s.device.wait_host(s.output_ready, deadline, label); !status.ok()) {
    return status.refusal();
  }
  std::vector<std::string> digests;
  std::string named;
  s.for_each(is_result, [&](const Operand& operand, const SampleOperand& asked) {
    digests.push_back(sha256_hex(ConstByteSpan(operand.host->span())));
    named += fmt::format("{}{} {}", named.empty() ? "" : ", ", asked.name, digests.back());
  });
  return digests.size() == 1 ? digests.front() : named;
}

void LatentPipeline::encode_prompt(std::uint32_t request) {
  state_->prompts->enqueue(request);
}

void LatentPipeline::prepare_forwards(std::uint32_t request, double timestep) {
  state_->upload_inputs(request);
  state_->sampler->enqueue_time(state_->device, timestep);
}

void LatentPipeline::enqueue_forward() {
  state_->sampler->enqueue_forward(state_->device);
}

void LatentPipeline::enqueue_output(std::size_t twin) {
  auto& s = *state_;
  const ByteSpan host = s.output_twins[twin]->span();
  std::size_t offset = 0;
  s.for_each([](OperandRole role) { return role == OperandRole::kForwardOutput; },
             [&](const Operand& operand, const SampleOperand& /*asked*/) {
               const std::size_t bytes = operand.tensor.span.bytes;
               s.device.copy_to_host(StreamKind::kCompute, host.subspan(offset, bytes),
                                     operand.tensor.span, OpLabel{.site = Site::kOutput});
               offset += bytes;
             });
}

ConstByteSpan LatentPipeline::output(std::size_t twin) const {
  return ConstByteSpan(state_->output_twins[twin]->span());
}

OperandBytes LatentPipeline::host_operand_bytes() const {
  OperandBytes bytes =
      state_->prompts != nullptr ? state_->prompts->host_operand_bytes() : OperandBytes{};
  for (const auto& operand : state_->operands) {
    if (operand.host != nullptr) {
      bytes.add(*operand.host);
    }
  }
  for (const auto& twin : state_->output_twins) {
    bytes.add(*twin);
  }
  return bytes;
}

std::vector<std::uint64_t> LatentPipeline::forwards_per_request() const {
  return state_->sampler->forwards_per_request();
}

}  // namespace dlo::engine
