// Goal: every family's denoising loop computes on a GPU what it computes on the CPU, in both
// arithmetics, without ever waiting for the device, and gives the same bytes again. Method: tiny
// models of each family with heads of 128 channels, two steps of the family's own sampler; a watch
// in torch throws at a stray synchronisation.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/value_generator.h"
#include "contracts/block_layout.h"
#include "model/dit_pipeline.h"
#include "model/torch_session.h"
#include "platform/cuda/cuda_device.h"
#include "platform/cuda/cuda_inventory.h"
#include "platform/posix/steady_clock.h"
#include "tests/gpu/model/relative_error.h"
#include "tests/support/inline_device.h"
#include "tests/support/resident_weights.h"
#include "tests/unit/model/tiny_wan.h"

namespace dlo::model {
namespace {

using platform::MemoryPurpose;
using platform::StreamKind;
using test::relative_error;
using Bytes = std::vector<std::byte>;

PipelineDescription described(const std::string& class_name, const nlohmann::json& config) {
  PipelineDescription description;
  description.transformers.push_back({"transformer", class_name, config});
  description.scheduler_class = "FlowMatchEulerDiscreteScheduler";
  description.scheduler = {{"shift", 3.0}};
  description.fields = nlohmann::json::object();
  return description;
}

std::vector<PipelineDescription> families() {
  nlohmann::json wan = test::tiny_wan_config(2);
  wan["attention_head_dim"] = 128;
  auto twins = described("WanTransformer3DModel", wan);
  twins.transformers.push_back({"transformer_2", "WanTransformer3DModel", wan});
  twins.fields["boundary_ratio"] = 0.5;
  const nlohmann::json flux = {{"in_channels", 16},         {"num_layers", 2},
                               {"num_single_layers", 2},    {"num_attention_heads", 2},
                               {"joint_attention_dim", 10}, {"pooled_projection_dim", 6},
                               {"guidance_embeds", true}};
  const nlohmann::json h3 = {
      {"hidden_size", 64},     {"num_layers", 2},          {"num_attention_heads", 2},
      {"ffn_hidden_size", 96}, {"latents_dim", 4},         {"audio_latents_dim", 6},
      {"text_dim", 10},        {"timestep_input_dim", 16}, {"time_embed_hidden_size", 32},
      {"time_embed_dim", 16}};
  return {twins, described("FluxTransformer2DModel", flux), described("MiniMaxH3DiTModel", h3)};
}

// A pipeline with its weights and operands on one device.
class Placed {
 public:
  Placed(platform::Device& device, const platform::Clock& clock,
         const PipelineDescription& description, ModelOptions options)
      : device_(device), clock_(clock) {
    options.device = compute_device(device);
    pipeline_ = make_dit_pipeline(description, options).value();
    for (const auto& transformer : pipeline_.transformers) {
      place(transformer->spec());
      for (const auto* child : transformer->child_rings()) {
        place(*child);
      }
    }
    sampler_ =
        pipeline_
            .make_sampler(
                {.steps = 2, .guidance_scale = 4.0, .latent_grid = {1, 8, 8}, .text_tokens = 7})
            .value();
    for (const auto& operand : sampler_->operands()) {
      const Bytes zeros(tensor_bytes(operand.shape, DType::kF32).value());
      tensors_.push_back({upload(zeros), DType::kF32, operand.shape});
    }
    sampler_->bind(tensors_);
  }
  ~Placed() {
    // Views go before the memory that they alias.
    sampler_.reset();
    pipeline_ = {};
  }
  Placed(const Placed&) = delete;
  Placed& operator=(const Placed&) = delete;

  // The results of one seeded request, back to back.
  Bytes run() {
    const auto& operands = sampler_->operands();
    for (std::size_t i = 0; i < operands.size(); ++i) {
      Bytes values(tensors_[i].span.bytes);
      ValueGenerator(operands[i].name, 3).fill_normal(values, DType::kF32, 0, 0.0F, 1.0F);
      copy(tensors_[i].span, values);
    }
    for (std::size_t step = 0; step < sampler_->step_count(); ++step) {
      sampler_->enqueue_step(device_, step);
    }
    Bytes results;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].role == OperandRole::kResult) {
        const auto host =
            device_.allocate_pinned(tensors_[i].span.bytes, MemoryPurpose::kOther).value();
        device_.copy_to_host(StreamKind::kCompute, host->span(), tensors_[i].span, {});
        finish();
        results.insert(results.end(), host->span().begin(), host->span().end());
      }
    }
    return results;
  }

 private:
  void finish() {
    const auto status = device_.synchronize(Deadline::after(clock_.now(), 60 * kSecond));
    ASSERT_TRUE(status.ok()) << status.refusal().message();
  }
  void copy(DeviceSpan to, const Bytes& bytes) {
    const auto host = device_.allocate_pinned(bytes.size(), MemoryPurpose::kOther).value();
    std::memcpy(host->span().data(), bytes.data(), bytes.size());
    device_.copy_to_device(StreamKind::kCompute, to, host->span(), {});
    finish();
  }
  DeviceSpan upload(const Bytes& bytes) {
    buffers_.push_back(device_.allocate_device(bytes.size(), MemoryPurpose::kOther).value());
    copy(buffers_.back()->span(), bytes);
    return buffers_.back()->span();
  }
  void place(const contracts::BlockSpec& block) {
    const contracts::BlockLayout layout(block);
    Bytes bytes(layout.bytes());
    for (const auto& entry : layout.entries()) {
      test::seeded_values(1)(block.tensors[entry.tensor_index],
                             {bytes.data() + entry.offset_bytes, entry.span_bytes});
    }
    block.binding->add_place(0, upload(bytes), layout);
    block.binding->bind(0);
  }
  void place(const contracts::DitSpec& ring) {
    for (const auto& block : ring.blocks) {
      place(block);
    }
    place(ring.non_block);
  }

  platform::Device& device_;
  const platform::Clock& clock_;
  std::vector<std::unique_ptr<platform::DeviceBuffer>> buffers_;
  DitPipeline pipeline_;
  std::unique_ptr<Sampler> sampler_;
  std::vector<DeviceTensor> tensors_;
};

TEST(GpuFamilies, DenoisingLoop_IsTheCpusWithinRoundingAndItsOwnBytesAgain) {
  if (platform::cuda_device_count() == 0) {
    GTEST_SKIP() << "no CUDA device can be used on this machine";
  }
  platform::SteadyClock clock;
  const auto signal = make_local_failure_signal();
  const auto device = platform::make_cuda_device({}, clock, *signal);
  const TorchSession session(
      *device, TorchSessionOptions{.stray_synchronisation = StraySynchronisation::kIsAnError});
  for (const auto& description : families()) {
    for (const DType arithmetic : {DType::kF32, DType::kBF16}) {
      SCOPED_TRACE(description.transformers.front().class_name);
      ModelOptions options;
      options.runtime_dtype = arithmetic;
      options.compute_dtype = arithmetic;
      test::InlineDevice cpu;
      Placed reference(cpu, clock, description, options);
      Placed placed(*device, clock, description, options);
      const Bytes first = placed.run();
      // fp32 sums in another order; in BF16 each lands on one of two neighbours.
      EXPECT_LE(relative_error(first, reference.run()), arithmetic == DType::kF32 ? 1e-4 : 0.03);
      EXPECT_EQ(placed.run(), first);
    }
  }
}

}  // namespace
}  // namespace dlo::model
