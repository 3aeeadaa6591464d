// Goal: models made from a seed stay finite and of the order of one in BF16 arithmetic at depth, so
// that equal bytes mean something. Method: each family's preset for CPUs at published depth, values
// of the generator, two steps of the family's sampler.

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/value_generator.h"
#include "host_weights/seeded_checkpoint/seeded_checkpoint.h"
#include "model/dit_pipeline.h"
#include "tests/golden/golden_model.h"

namespace dlo::golden {
namespace {

constexpr std::uint64_t kSeed = 11;

model::PipelineDescription described(const host_weights::SeededModel& seeded) {
  model::PipelineDescription description;
  for (const auto& transformer : seeded.transformers) {
    description.transformers.push_back(
        {transformer.name, transformer.config.at("_class_name"), transformer.config});
  }
  description.scheduler = seeded.scheduler.value_or(nlohmann::json::object());
  description.fields = seeded.model_index;
  return description;
}

// Root mean square of all results; NaN when any value is none.
double size_of_results(const std::string& preset, std::int64_t blocks) {
  const auto seeded = host_weights::seeded_model(preset, blocks).value();
  model::ModelOptions options;
  options.runtime_dtype = DType::kBF16;
  options.compute_dtype = DType::kBF16;
  test::InlineDevice device;
  const auto pipeline = model::make_dit_pipeline(described(seeded), options).value();
  std::map<std::string, host_weights::SeededTensor> tensors;
  for (const auto& tensor : seeded.transformers.front().tensors) {
    tensors.emplace("transformer." + tensor.name, tensor);
  }
  const auto fill = [&tensors](const contracts::TensorSpec& spec, ByteSpan out) {
    host_weights::fill_seeded_tensor(tensors.at(spec.name), kSeed, spec.dtype, 0, out);
  };
  const auto& transformer = *pipeline.transformers.front();
  std::vector<std::unique_ptr<test::ResidentWeights>> weights;
  weights.push_back(std::make_unique<test::ResidentWeights>(device, transformer.spec(), fill));
  for (const auto* child : transformer.child_rings()) {
    weights.push_back(std::make_unique<test::ResidentWeights>(device, *child, fill));
  }
  const auto sampler =
      pipeline
          .make_sampler(
              {.steps = 2, .guidance_scale = 3.5, .latent_grid = {1, 8, 8}, .text_tokens = 8})
          .value();
  std::vector<GoldenOperand> operands;
  std::vector<model::DeviceTensor> bound;
  for (const auto& asked : sampler->operands()) {
    GoldenTensor value{asked.shape, std::vector<float>(element_count(asked.shape).value())};
    ValueGenerator(asked.name, kSeed)
        .fill_normal(std::as_writable_bytes(std::span(value.values)), DType::kF32, 0, 0.0F, 1.0F);
    operands.emplace_back(device, value);
    bound.push_back(operands.back().tensor());
  }
  sampler->bind(bound);
  for (std::size_t step = 0; step < sampler->step_count(); ++step) {
    sampler->enqueue_step(device, step);
    require_success(device);
  }
  double sum = 0.0;
  double count = 0.0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (sampler->operands()[i].role == model::OperandRole::kResult) {
      for (const float value : operands[i].value().values) {
        sum += static_cast<double>(value) * static_cast<double>(value);
        count += 1.0;
      }
    }
  }
  return std::sqrt(sum / count);
}

TEST(SeededPresets, PublishedDepthInBf16_StaysFinite) {
  const std::map<std::string, std::int64_t> depths = {
      {"wan_cpu", 40}, {"flux_cpu", 57}, {"h3_cpu", 50}};
  for (const auto& [preset, blocks] : depths) {
    const double size = size_of_results(preset, blocks);
    std::cout << preset << " " << size << "\n";
    EXPECT_GT(size, 0.1) << preset;
    EXPECT_LT(size, 30.0) << preset;
  }
}

}  // namespace
}  // namespace dlo::golden
