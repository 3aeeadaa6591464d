// Goal: what happens between forwards: the schedule's settings and tables, guidance and the Euler
// step on latents. Method: small tensors by hand; golden tables are in tests/golden.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "base/codes.h"
#include "base/error.h"
#include "base/json.h"
#include "model/latent_ops.h"
#include "model/schedulers/flow_match_euler.h"
#include "tests/support/inline_device.h"

namespace dlo::model {
namespace {

class LatentOps : public testing::Test {
 protected:
  DeviceTensor tensor(const std::vector<float>& values) {
    buffers_.push_back(
        device_.allocate_device(values.size() * sizeof(float), platform::MemoryPurpose::kOther)
            .value());
    const DeviceSpan span = buffers_.back()->span();
    std::memcpy(span.data, values.data(), span.bytes);
    return {span, DType::kF32, {static_cast<std::int64_t>(values.size())}};
  }
  static std::vector<float> values(const DeviceTensor& tensor) {
    std::vector<float> out(tensor.span.bytes / sizeof(float));
    std::memcpy(out.data(), tensor.span.data, tensor.span.bytes);
    return out;
  }

  test::InlineDevice device_{test::InlineMode::kQueued};
  std::vector<std::unique_ptr<platform::DeviceBuffer>> buffers_;
};

TEST_F(LatentOps, Enqueued_RunInStreamOrderAndNotBefore) {
  const DeviceTensor latents = tensor({1.0F, 2.0F});
  const DeviceTensor conditional = tensor({3.0F, 5.0F});
  const DeviceTensor unconditional = tensor({1.0F, 4.0F});
  launch_set_compute_threads(device_, 1);
  launch_guidance(device_, conditional, unconditional, 5.0F);
  launch_euler_step(device_, latents, conditional, -0.5F);
  EXPECT_EQ(values(latents), (std::vector<float>{1.0F, 2.0F}));
  device_.run_queued();
  ASSERT_FALSE(device_.failure().has_value());
  EXPECT_EQ(values(conditional), (std::vector<float>{11.0F, 9.0F}));
  EXPECT_EQ(values(latents), (std::vector<float>{-4.5F, -2.5F}));
}

TEST_F(LatentOps, Fill_SetsEveryElement) {
  const DeviceTensor timestep = tensor({0.0F, 0.0F, 0.0F});
  launch_fill(device_, timestep, 875.0F);
  device_.run_queued();
  EXPECT_EQ(values(timestep), (std::vector<float>{875.0F, 875.0F, 875.0F}));
}

TEST_F(LatentOps, DifferentShapes_Throw) {
  EXPECT_THROW(launch_euler_step(device_, tensor({1.0F}), tensor({1.0F, 2.0F}), 1.0F), LogicError);
  EXPECT_THROW(launch_set_compute_threads(device_, 0), LogicError);
}

TEST(FlowMatchEuler, OneStep_GoesFromOneToZero) {
  const FlowSchedule schedule = make_flow_schedule({}, {1, std::nullopt, {}});
  EXPECT_EQ(schedule.sigmas, (std::vector<float>{1.0F, 0.0F}));
  EXPECT_EQ(schedule.timesteps, (std::vector<float>{1000.0F}));
  EXPECT_EQ(schedule.delta_sigma(0), -1.0F);
}

TEST(FlowMatchEuler, AnyShift_SigmasFallToZero) {
  for (const double shift : {0.5, 1.0, 3.0, 12.0}) {
    FlowMatchEulerConfig config;
    config.shift = shift;
    const FlowSchedule schedule = make_flow_schedule(config, {30, std::nullopt, {}});
    ASSERT_EQ(schedule.sigmas.size(), 31U);
    EXPECT_EQ(schedule.sigmas.front(), 1.0F);
    EXPECT_EQ(schedule.sigmas.back(), 0.0F);
    for (std::size_t step = 0; step < 30; ++step) {
      EXPECT_LT(schedule.delta_sigma(step), 0.0F);
    }
  }
}

TEST(FlowMatchEuler, ImpossibleRequest_Throws) {
  EXPECT_THROW(static_cast<void>(make_flow_schedule({}, {0, std::nullopt, {}})), LogicError);
  FlowMatchEulerConfig config;
  config.use_dynamic_shifting = true;
  EXPECT_THROW(static_cast<void>(make_flow_schedule(config, {4, std::nullopt, {}})), LogicError);
}

TEST(FlowMatchEuler, UnsupportedOrBadSettings_AreRefusedByCode) {
  const auto code_of = [](const nlohmann::json& config) {
    const auto parsed = parse_flow_match_euler(config);
    return parsed.ok() ? std::string() : parsed.refusal().code;
  };
  EXPECT_EQ(code_of({{"shift", 3.0}, {"use_karras_sigmas", false}}), "");
  EXPECT_EQ(code_of({{"use_karras_sigmas", true}}), codes::kNotInThisProduct);
  EXPECT_EQ(code_of({{"stochastic_sampling", true}}), codes::kNotInThisProduct);
  EXPECT_EQ(code_of({{"_class_name", "UniPCMultistepScheduler"}}), codes::kNotInThisProduct);
  EXPECT_EQ(code_of({{"shift", "three"}}), codes::kCheckpointInvalid);
  EXPECT_EQ(code_of({{"shift", 0}}), codes::kCheckpointInvalid);
  EXPECT_EQ(code_of({{"num_train_timesteps", 0}}), codes::kCheckpointInvalid);
  EXPECT_EQ(code_of({{"shift_terminal", 1.0}}), codes::kCheckpointInvalid);
  EXPECT_EQ(code_of({{"time_shift_type", "cubic"}}), codes::kCheckpointInvalid);
  EXPECT_EQ(code_of(nlohmann::json::array()), codes::kCheckpointInvalid);
}

}  // namespace
}  // namespace dlo::model
