#include "engine/latent_pipeline.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "base/codes.h"
#include "base/sha256.h"
#include "base/value_generator.h"
#include "model/latent_ops.h"
#include "platform/clock.h"

namespace dlo::engine {

using model::DeviceTensor;
using platform::MemoryPurpose;
using platform::OpLabel;
using platform::Site;
using platform::StreamKind;

namespace {

// A device tensor with a host twin, for operands that enter or leave.
struct Operand {
  std::unique_ptr<platform::DeviceBuffer> device;
  std::unique_ptr<platform::HostBuffer> host;
  DeviceTensor tensor;
};

Result<Operand> make_operand(platform::Device& device, Shape shape) {
  const auto bytes = tensor_bytes(shape, DType::kF32);
  if (!bytes) {
    return refuse(codes::kInvalidValue, "an operand of shape " + shape_text(shape) + " overflows",
                  "requests", "ask for a smaller latent grid");
  }
  auto device_buffer = device.allocate_device(*bytes, MemoryPurpose::kOther);
  if (!device_buffer.ok()) {
    return device_buffer.refusal();
  }
  // A copy between pageable memory and an accelerator holds up the launching thread, past any
  // deadline: there the twin is pinned.
  const bool pinned = device.native_stream(StreamKind::kCompute).present();
  auto host_buffer = pinned ? device.allocate_pinned(*bytes, MemoryPurpose::kOther)
                            : device.allocate_pageable(*bytes, MemoryPurpose::kOther);
  if (!host_buffer.ok()) {
    return host_buffer.refusal();
  }
  const DeviceSpan span = (*device_buffer)->span();
  return Operand{std::move(device_buffer).value(), std::move(host_buffer).value(),
                 DeviceTensor{span, DType::kF32, std::move(shape)}};
}

}  // namespace

struct LatentPipeline::State {
  platform::Device& device;
  model::DitModel& model;
  RequestSpec requests;
  model::FlowSchedule schedule;
  platform::EventId output_ready;
  Operand latents;
  Operand timestep;
  Operand text;
  Operand negative_text;
  Operand velocity;
  Operand negative_velocity;
  // Enqueued forwards refer to these; run() waits before it touches them again.
  model::DitCall conditional;
  model::DitCall unconditional;

  [[nodiscard]] bool guided() const { return requests.guidance_scale > 1.0; }

  void upload(const Operand& operand, std::string_view name, std::uint32_t request) {
    const ValueGenerator values(fmt::format("request {} {}", request, name), requests.seed);
    values.fill_normal(operand.host->span(), DType::kF32, 0, 0.0F, 1.0F);
    device.copy_to_device(StreamKind::kCompute, operand.tensor.span, operand.host->span(),
                          OpLabel{.site = Site::kModel});
  }

  void enqueue_step(std::size_t step) {
    model::launch_fill(device, timestep.tensor, schedule.timesteps[step]);
    model.forward(device, conditional);
    if (guided()) {
      model.forward(device, unconditional);
      model::launch_guidance(device, velocity.tensor, negative_velocity.tensor,
                             static_cast<float>(requests.guidance_scale));
    }
    model::launch_euler_step(device, latents.tensor, velocity.tensor, schedule.delta_sigma(step));
  }
};

LatentPipeline::LatentPipeline(std::unique_ptr<State> state) : state_(std::move(state)) {}
LatentPipeline::~LatentPipeline() = default;

Result<std::unique_ptr<LatentPipeline>> LatentPipeline::make(
    platform::Device& device, model::DitModel& model, const model::FlowMatchEulerConfig& scheduler,
    const RequestSpec& requests) {
  const auto& geometry = model.geometry();
  if (requests.steps == 0) {
    return refuse(codes::kInvalidValue, "a request needs at least one step", "requests.steps",
                  "set steps to 1 or more");
  }
  if (auto status = geometry.check_grid(
          {requests.latent_frames, requests.latent_height, requests.latent_width});
      !status.ok()) {
    return status.refusal();
  }
  const Shape grid = {1, 0, requests.latent_frames, requests.latent_height, requests.latent_width};
  const auto with_channels = [&grid](std::int64_t channels) {
    Shape shape = grid;
    shape[1] = channels;
    return shape;
  };
  const Shape text_shape = {1, requests.text_tokens, geometry.text_dim};
  const std::vector<Shape> shapes = {with_channels(geometry.in_channels),
                                     {1},
                                     text_shape,
                                     text_shape,
                                     with_channels(geometry.out_channels),
                                     with_channels(geometry.out_channels)};
  std::vector<Operand> operands;
  for (const auto& shape : shapes) {
    auto operand = make_operand(device, shape);
    if (!operand.ok()) {
      return operand.refusal();
    }
    operands.push_back(std::move(operand).value());
  }
  auto schedule = model::make_flow_schedule(
      scheduler, {.step_count = requests.steps, .mu = std::nullopt, .given_sigmas = {}});
  auto state = std::unique_ptr<State>(new State{device,
                                                model,
                                                requests,
                                                std::move(schedule),
                                                device.create_event(),
                                                std::move(operands[0]),
                                                std::move(operands[1]),
                                                std::move(operands[2]),
                                                std::move(operands[3]),
                                                std::move(operands[4]),
                                                std::move(operands[5]),
                                                {},
                                                {}});
  state->conditional = {state->latents.tensor, state->timestep.tensor, state->text.tensor,
                        state->velocity.tensor};
  state->unconditional = {state->latents.tensor, state->timestep.tensor,
                          state->negative_text.tensor, state->negative_velocity.tensor};
  return std::unique_ptr<LatentPipeline>(new LatentPipeline(std::move(state)));
}

Result<std::string> LatentPipeline::run(std::uint32_t request, Nanoseconds timeout) {
  auto& s = *state_;
  s.upload(s.latents, "latents", request);
  s.upload(s.text, "text", request);
  s.upload(s.negative_text, "negative text", request);
  for (std::size_t step = 0; step < s.requests.steps; ++step) {
    s.enqueue_step(step);
  }
  const OpLabel label{.site = Site::kOutput};
  const ByteSpan output = s.latents.host->span();
  s.device.copy_to_host(StreamKind::kCompute, output, s.latents.tensor.span, label);
  s.device.record(s.output_ready, StreamKind::kCompute, label);
  const auto deadline = Deadline::after(s.device.clock().now(), timeout);
  if (auto status = s.device.wait_host(s.output_ready, deadline, label); !status.ok()) {
    return status.refusal();
  }
  return sha256_hex(ConstByteSpan(output));
}

void LatentPipeline::prepare_forwards(std::uint32_t request, double timestep) {
  auto& s = *state_;
  s.upload(s.latents, "latents", request);
  s.upload(s.text, "text", request);
  model::launch_fill(s.device, s.timestep.tensor, static_cast<float>(timestep));
}

void LatentPipeline::enqueue_forward() {
  state_->model.forward(state_->device, state_->conditional);
}

void LatentPipeline::enqueue_output(std::size_t twin) {
  auto& s = *state_;
  // Without guidance the second velocity serves nothing else.
  const auto& operand = twin == 0 ? s.velocity : s.negative_velocity;
  s.device.copy_to_host(StreamKind::kCompute, operand.host->span(), s.velocity.tensor.span,
                        OpLabel{.site = Site::kOutput});
}

ConstByteSpan LatentPipeline::output(std::size_t twin) const {
  return ConstByteSpan((twin == 0 ? state_->velocity : state_->negative_velocity).host->span());
}

LatentPipeline::OperandBytes LatentPipeline::host_operand_bytes() const {
  const auto& s = *state_;
  OperandBytes bytes;
  for (const auto* operand :
       {&s.latents, &s.timestep, &s.text, &s.negative_text, &s.velocity, &s.negative_velocity}) {
    (operand->host->pinned() ? bytes.pinned : bytes.pageable) += operand->host->span().size();
  }
  return bytes;
}

std::uint64_t LatentPipeline::forwards_per_request() const {
  return static_cast<std::uint64_t>(state_->requests.steps) * (state_->guided() ? 2 : 1);
}

}  // namespace dlo::engine
