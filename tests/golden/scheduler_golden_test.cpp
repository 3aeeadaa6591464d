// Goal: the schedulers make diffusers' tables and trajectories. Method: every
// stored configuration, tables for 4, 6, 20 and 50 steps, trajectories of 6 and 20 with the
// fixtures' stand-in network v = 0.3 x + 0.1 (t / 1000) w.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json.h"
#include "model/schedulers/flow_match_euler.h"
#include "model/schedulers/h3_schedule.h"
#include "platform/posix/posix_file_system.h"
#include "tests/golden/comparison.h"

namespace dlo::golden {
namespace {

using Json = nlohmann::json;

model::FlowSchedule schedule_of(const Json& settings, std::size_t steps) {
  model::ScheduleRequest request;
  request.step_count = steps;
  if (settings["set_timesteps"].contains("mu")) {
    request.mu = settings["set_timesteps"]["mu"].get<double>();
  }
  if (settings["sigmas"] == "linspace(1, 1/n, n)") {
    const double last = 1.0 / static_cast<double>(steps);
    for (std::size_t i = 0; i < steps; ++i) {
      const double share = static_cast<double>(i) / static_cast<double>(steps - 1);
      request.given_sigmas.push_back(1.0 + (last - 1.0) * share);
    }
  }
  const auto config = model::parse_flow_match_euler(settings["scheduler_config"]);
  return model::make_flow_schedule(config.value(), request);
}

GoldenTensor trajectory_of(const model::FlowSchedule& schedule, const GoldenTensor& start,
                           const GoldenTensor& w) {
  const std::size_t steps = schedule.timesteps.size();
  GoldenTensor out{{static_cast<std::int64_t>(steps) + 1}, start.values};
  out.shape.insert(out.shape.end(), start.shape.begin(), start.shape.end());
  std::vector<float> x = start.values;
  for (std::size_t step = 0; step < steps; ++step) {
    const float time = schedule.timesteps[step] / 1000.0F;
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] += schedule.delta_sigma(step) * (0.3F * x[i] + 0.1F * time * w.values[i]);
    }
    out.values.insert(out.values.end(), x.begin(), x.end());
  }
  return out;
}

// The stand-in network of the H3 schedules gets the time itself; the step is the schedule's own.
GoldenTensor trajectory_of(const model::H3Schedule& schedule, const GoldenTensor& start,
                           const GoldenTensor& w) {
  const std::size_t steps = schedule.timesteps.size();
  GoldenTensor out{{static_cast<std::int64_t>(steps) + 1}, start.values};
  out.shape.insert(out.shape.end(), start.shape.begin(), start.shape.end());
  std::vector<float> x = start.values;
  for (std::size_t step = 0; step < steps; ++step) {
    const float ratio = schedule.ratio(step);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float velocity = 0.3F * x[i] + 0.1F * schedule.timesteps[step] * w.values[i];
      const float clean = x[i] + schedule.noise_share(step) * velocity;
      x[i] = ratio * x[i] + (1.0F - ratio) * clean;
    }
    out.values.insert(out.values.end(), x.begin(), x.end());
  }
  return out;
}

GoldenTensor row(const std::vector<float>& values) {
  return GoldenTensor{{static_cast<std::int64_t>(values.size())}, values};
}

class SchedulerGolden : public testing::TestWithParam<std::string> {};

TEST_P(SchedulerGolden, TablesAndTrajectories_MatchWithinTolerance) {
  const std::string label = GetParam();
  const platform::Path folder = fixtures() / "schedulers";
  const platform::PosixFileSystem files;
  const Json settings = read_json(files, folder / "configs" / (label + ".json"));
  const GoldenTensors inputs = read_golden_tensors(files, folder / "inputs.safetensors").value();
  const auto stored = read_golden_tensors(files, folder / "expected.safetensors");
  GoldenTensors expected;
  for (const auto& [name, tensor] : stored.value()) {
    if (name.starts_with(label + ".")) {
      expected.emplace(name, tensor);
    }
  }
  GoldenTensors computed;
  for (const std::size_t steps : {4U, 6U, 20U, 50U}) {
    const model::FlowSchedule schedule = schedule_of(settings, steps);
    const std::string suffix = "." + std::to_string(steps);
    computed[label + ".sigmas" + suffix] = row(schedule.sigmas);
    computed[label + ".timesteps" + suffix] = row(schedule.timesteps);
    computed[label + ".trajectory" + suffix] =
        trajectory_of(schedule, inputs.at("x"), inputs.at("w"));
  }
  const Comparison comparison = compare(expected, computed);
  EXPECT_EQ(comparison.compared.size(), 10U);
  EXPECT_TRUE(comparison.not_compared.empty());
  EXPECT_TRUE(comparison.passed()) << comparison.text();
}

class H3ScheduleGolden : public testing::TestWithParam<double> {};

TEST_P(H3ScheduleGolden, TablesAndTrajectories_MatchWithinTolerance) {
  const std::string label = "h3_shift" + std::to_string(static_cast<int>(GetParam()));
  const platform::PosixFileSystem files;
  const platform::Path folder = fixtures() / "schedulers";
  const GoldenTensors inputs = read_golden_tensors(files, folder / "inputs.safetensors").value();
  const auto stored = read_golden_tensors(files, folder / "expected.safetensors").value();
  GoldenTensors expected;
  GoldenTensors computed;
  for (const std::size_t points : {4U, 6U, 20U, 50U}) {
    // A grid of n points has n - 1 steps.
    const model::H3Schedule schedule = model::make_h3_schedule(GetParam(), points - 1);
    const std::string suffix = "." + std::to_string(points);
    computed[label + ".sigmas" + suffix] = row(schedule.sigmas);
    computed[label + ".timesteps" + suffix] = row(schedule.timesteps);
    computed[label + ".trajectory" + suffix] =
        trajectory_of(schedule, inputs.at("x"), inputs.at("w"));
  }
  for (const auto& [name, tensor] : stored) {
    if (name.starts_with(label + ".")) {
      expected.emplace(name, tensor);
    }
  }
  const Comparison comparison = compare(expected, computed);
  EXPECT_EQ(comparison.compared.size(), 10U);
  EXPECT_TRUE(comparison.passed()) << comparison.text();
}

INSTANTIATE_TEST_SUITE_P(H3, H3ScheduleGolden, testing::Values(12.0, 3.0),
                         [](const auto& param_info) {
                           return "Case" + std::to_string(param_info.index);
                         });

TEST(DynamicShift, TokenCounts_GiveThePipelinesMu) {
  const platform::PosixFileSystem files;
  const auto stored =
      read_golden_tensors(files, fixtures() / "schedulers" / "expected.safetensors").value();
  const auto& tokens = stored.at("mu.image_seq_len").values;
  const auto& mu = stored.at("mu.value").values;
  ASSERT_EQ(tokens.size(), 5U);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_NEAR(model::dynamic_mu({}, static_cast<std::int64_t>(tokens[i])), mu[i], 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Euler, SchedulerGolden,
    testing::Values("euler_shift1", "euler_shift3", "euler_shift5", "euler_shift12",
                    "euler_shift3_sigmas", "euler_dynamic_mu0.75", "euler_dynamic_mu0.75_sigmas",
                    "euler_dynamic_mu1.15_sigmas", "euler_dynamic_terminal_sigmas"),
    [](const auto& param_info) { return "Case" + std::to_string(param_info.index); });

}  // namespace
}  // namespace dlo::golden
