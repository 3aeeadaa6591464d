#include "model/schedulers/flow_match_euler.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "base/codes.h"
#include "base/error.h"
#include "base/json.h"

namespace dlo::model {

namespace {

using Json = nlohmann::json;

constexpr const char* kSchedulerFile = "scheduler_config.json";
constexpr const char* kAction = "use a FlowMatchEulerDiscreteScheduler configuration";

Refusal bad_field(const std::string& name, const std::string& wanted) {
  return refuse(codes::kCheckpointInvalid, fmt::format("'{}' must be {}", name, wanted),
                kSchedulerFile, kAction);
}

double static_shift(double shift, double sigma) {
  return shift * sigma / (1.0 + (shift - 1.0) * sigma);
}

double dynamic_shift(TimeShift type, double mu, double sigma) {
  const double weight = type == TimeShift::kExponential ? std::exp(mu) : mu;
  return weight / (weight + (1.0 / sigma - 1.0));
}

// Ends of the scheduler's own grid: 1 and 1 / N, already shifted once when the shift is static.
std::pair<double, double> grid_ends(const FlowMatchEulerConfig& config) {
  const double smallest = 1.0 / static_cast<double>(config.num_train_timesteps);
  if (config.use_dynamic_shifting) {
    return {1.0, static_cast<float>(smallest)};
  }
  // The reference keeps these in fp32.
  return {static_cast<float>(static_shift(config.shift, 1.0)),
          static_cast<float>(static_shift(config.shift, smallest))};
}

std::vector<double> unshifted_sigmas(const FlowMatchEulerConfig& config,
                                     const ScheduleRequest& request) {
  if (!request.given_sigmas.empty()) {
    return request.given_sigmas;
  }
  const auto [first, last] = grid_ends(config);
  std::vector<double> sigmas(request.step_count, first);
  for (std::size_t i = 1; i < sigmas.size(); ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(sigmas.size() - 1);
    sigmas[i] = first + (last - first) * share;
  }
  return sigmas;
}

// Stretches the table so that its last value becomes `terminal`.
void stretch_to_terminal(double terminal, std::vector<double>& sigmas) {
  const double scale = (1.0 - sigmas.back()) / (1.0 - terminal);
  for (double& sigma : sigmas) {
    sigma = 1.0 - (1.0 - sigma) / scale;
  }
}

std::optional<Refusal> check_supported(const Json& config) {
  const auto class_name = config.find("_class_name");
  if (class_name != config.end() && *class_name != "FlowMatchEulerDiscreteScheduler") {
    return refuse(codes::kNotInThisProduct,
                  fmt::format("scheduler class {} is not supported", class_name->dump()),
                  kSchedulerFile, kAction);
  }
  for (const char* name : {"invert_sigmas", "stochastic_sampling", "use_beta_sigmas",
                           "use_exponential_sigmas", "use_karras_sigmas"}) {
    if (config.contains(name) && config[name] != false && !config[name].is_null()) {
      return refuse(codes::kNotInThisProduct, fmt::format("'{}' is not supported", name),
                    kSchedulerFile, kAction);
    }
  }
  return std::nullopt;
}

std::optional<Refusal> read_numbers(const Json& config, FlowMatchEulerConfig& out) {
  if (config.contains("num_train_timesteps")) {
    const Json& field = config["num_train_timesteps"];
    if (!field.is_number_integer() || field < 1) {
      return bad_field("num_train_timesteps", "a positive integer");
    }
    out.num_train_timesteps = field.get<std::int64_t>();
  }
  if (config.contains("shift")) {
    const Json& field = config["shift"];
    if (!field.is_number() || field <= 0.0) {
      return bad_field("shift", "a positive number");
    }
    out.shift = field.get<double>();
  }
  if (config.contains("shift_terminal") && !config["shift_terminal"].is_null()) {
    const Json& field = config["shift_terminal"];
    if (!field.is_number() || field < 0.0 || field >= 1.0) {
      return bad_field("shift_terminal", "null or a number from 0 to below 1");
    }
    // diffusers takes 0 as absent.
    if (field > 0.0) {
      out.shift_terminal = field.get<double>();
    }
  }
  return std::nullopt;
}

std::optional<Refusal> read_dynamic(const Json& config, FlowMatchEulerConfig& out) {
  if (config.contains("use_dynamic_shifting")) {
    const Json& field = config["use_dynamic_shifting"];
    if (!field.is_boolean()) {
      return bad_field("use_dynamic_shifting", "true or false");
    }
    out.use_dynamic_shifting = field.get<bool>();
  }
  if (config.contains("time_shift_type")) {
    const Json& field = config["time_shift_type"];
    if (field != "exponential" && field != "linear") {
      return bad_field("time_shift_type", "'exponential' or 'linear'");
    }
    out.time_shift_type = field == "linear" ? TimeShift::kLinear : TimeShift::kExponential;
  }
  const struct {
    const char* name;
    double* value;
  } fields[] = {{"base_image_seq_len", &out.base_image_seq_len},
                {"base_shift", &out.base_shift},
                {"max_image_seq_len", &out.max_image_seq_len},
                {"max_shift", &out.max_shift}};
  for (const auto& [name, value] : fields) {
    const auto field = config.find(name);
    if (field == config.end() || field->is_null()) {
      continue;
    }
    if (!field->is_number() || *field <= 0.0) {
      return bad_field(name, "a positive number");
    }
    *value = field->get<double>();
  }
  if (out.max_image_seq_len <= out.base_image_seq_len) {
    return bad_field("max_image_seq_len", "above base_image_seq_len");
  }
  return std::nullopt;
}

}  // namespace

Result<FlowMatchEulerConfig> parse_flow_match_euler(const Json& config) {
  if (!config.is_object()) {
    return refuse(codes::kCheckpointInvalid, "the scheduler configuration is not a JSON object",
                  kSchedulerFile, kAction);
  }
  if (auto refusal = check_supported(config)) {
    return *refusal;
  }
  FlowMatchEulerConfig out;
  for (const auto read_part : {read_numbers, read_dynamic}) {
    if (auto refusal = read_part(config, out)) {
      return *refusal;
    }
  }
  return out;
}

double dynamic_mu(const FlowMatchEulerConfig& config, std::int64_t tokens) {
  const double slope = (config.max_shift - config.base_shift) /
                       (config.max_image_seq_len - config.base_image_seq_len);
  return slope * (static_cast<double>(tokens) - config.base_image_seq_len) + config.base_shift;
}

float FlowSchedule::delta_sigma(std::size_t step) const {
  return sigmas[step + 1] - sigmas[step];
}

FlowSchedule make_flow_schedule(const FlowMatchEulerConfig& config,
                                const ScheduleRequest& request) {
  require(request.step_count > 0 || !request.given_sigmas.empty(), "a schedule needs a step");
  require(!config.use_dynamic_shifting || request.mu.has_value(),
          "dynamic shifting needs mu (schedule request)");
  std::vector<double> sigmas = unshifted_sigmas(config, request);
  for (double& sigma : sigmas) {
    sigma = config.use_dynamic_shifting ? dynamic_shift(config.time_shift_type, *request.mu, sigma)
                                        : static_shift(config.shift, sigma);
  }
  if (config.shift_terminal) {
    stretch_to_terminal(*config.shift_terminal, sigmas);
  }
  FlowSchedule schedule;
  for (const double sigma : sigmas) {
    schedule.sigmas.push_back(static_cast<float>(sigma));
    schedule.timesteps.push_back(schedule.sigmas.back() *
                                 static_cast<float>(config.num_train_timesteps));
  }
  schedule.sigmas.push_back(0.0F);
  return schedule;
}

}  // namespace dlo::model
