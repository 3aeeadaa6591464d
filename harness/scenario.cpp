#include "harness/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/codes.h"
#include "base/nearest_name.h"
#include "config/option_rows.h"
#include "harness/matrix.h"
#include "harness/metrics.h"
#include "harness/scenario_faults.h"
#include "harness/scenario_options.h"
#include "harness/scenario_paths.h"
#include "harness/scenario_schema.h"
#include "harness/scenario_throughput.h"
#include "harness/throughput_metrics.h"

namespace dlo::harness {
namespace {

Refusal bad_file(std::string_view code, std::string what, const ScenarioContext& context,
                 std::string action) {
  return refuse(code, std::move(what), context.file.string(), std::move(action));
}

// The file is the place to mend, whoever found the mistake.
Refusal in_file(Refusal refusal, const ScenarioContext& context, std::string_view section) {
  refusal.what = fmt::format("{}: {}", section, refusal.what);
  refusal.where = context.file.string();
  return refusal;
}

Json section(const Json& document, const char* name) {
  return document.contains(name) ? document.at(name) : Json::object();
}

template <typename T>
void read_field(const Json& object, const char* name, T& value) {
  if (object.contains(name)) {
    object.at(name).get_to(value);
  }
}

template <typename T>
void read_field(const Json& object, const char* name, std::optional<T>& value) {
  if (object.contains(name)) {
    value = object.at(name).get<T>();
  }
}

Result<ModelChoice> read_model(const Json& document, const ScenarioContext& context) {
  const Json& model = document.at("model");
  if (model.contains("checkpoint") == model.contains("preset")) {
    return bad_file(codes::kInvalidValue, "model needs either a checkpoint or a preset", context,
                    "give one of the two");
  }
  ModelChoice choice;
  if (model.contains("checkpoint")) {
    if (model.contains("blocks") || model.contains("seed") || model.contains("stored_dtype")) {
      return bad_file(codes::kInvalidValue, "blocks, seed and stored_dtype belong to a preset",
                      context, "leave them out beside a checkpoint");
    }
    choice.checkpoint = model.at("checkpoint").get<std::string>();
  } else {
    GeneratedModel generated{.preset = model.at("preset").get<std::string>(),
                             .seed = context.run_seed,
                             .blocks = std::nullopt,
                             .stored_dtype = std::nullopt};
    read_field(model, "seed", generated.seed);
    read_field(model, "blocks", generated.blocks);
    read_field(model, "stored_dtype", generated.stored_dtype);
    choice.generated = generated;
  }
  choice.dtype = *dtype_from_name(model.value("dtype", "F32"));
  read_field(model, "keep_fp32_modules", choice.keep_fp32_modules);
  choice.compute_dtype = *dtype_from_name(model.value("compute_dtype", "F32"));
  read_field(model, "attention", choice.attention);
  read_field(model, "fused_projections", choice.fused_projections);
  return choice;
}

Result<config::ParallelConfig> read_parallel(const Json& document, const ScenarioContext& context) {
  const Json& topology = document.at("topology");
  nlohmann::json fields{{"data_parallel_size", topology.at("dp")},
                        {"ulysses_degree", topology.at("sp")},
                        {"tensor_parallel_size", topology.at("tp")}};
  if (topology.at("hsdp") != 1) {
    fields["use_hsdp"] = true;
    fields["hsdp_shard_size"] = topology.at("hsdp");
  }
  fields.update(nlohmann::json(section(document, "parallel")));
  Result<config::ParallelConfig> parallel = config::parallel_from_json(fields);
  if (!parallel) {
    return in_file(parallel.refusal(), context, "parallel");
  }
  return parallel;
}

Result<engine::PlatformSpec> read_platform(const Json& document, const ScenarioContext& context) {
  engine::PlatformSpec spec;
  const Json platform = section(document, "platform");
  read_field(platform, "device", spec.device);
  read_field(platform, "share_devices", spec.share_devices);
  read_field(platform, "gather", spec.gather);
  read_field(platform, "nccl_max_ctas", spec.nccl_max_ctas);
  read_field(platform, "nccl_cluster_size", spec.nccl_cluster_size);
  read_field(platform, "device_budget_bytes", spec.device_budget_bytes);
  read_field(platform, "pinned_budget_bytes", spec.pinned_budget_bytes);
  read_field(platform, "wait_timeout_s", spec.wait_timeout_s);
  if (Status status = read_faults(section(document, "faults"), spec); !status) {
    return in_file(status.refusal(), context, "faults");
  }
  return spec;
}

engine::RequestSpec read_requests(const Json& document, const ScenarioContext& context) {
  engine::RequestSpec spec;
  spec.seed = context.run_seed;
  const Json requests = section(document, "requests");
  read_field(requests, "count", spec.count);
  read_field(requests, "steps", spec.steps);
  read_field(requests, "guidance_scale", spec.guidance_scale);
  read_field(requests, "latent_frames", spec.latent_frames);
  read_field(requests, "latent_height", spec.latent_height);
  read_field(requests, "latent_width", spec.latent_width);
  read_field(requests, "text_tokens", spec.text_tokens);
  read_field(requests, "seed", spec.seed);
  if (requests.contains("prompt_tokens") && requests.at("prompt_tokens").is_array()) {
    requests.at("prompt_tokens").get_to(spec.prompt_tokens);
  } else {
    read_field(requests, "prompt_tokens", spec.prompt_token_count);
  }
  return spec;
}

engine::Outcome outcome_from_name(std::string_view name) {
  if (name == "rejected") {
    return engine::Outcome::kRejected;
  }
  if (name == "falls_back") {
    return engine::Outcome::kFallsBack;
  }
  return name == "fails_closed" ? engine::Outcome::kFailsClosed : engine::Outcome::kRuns;
}

Result<Expectation> read_expectation(const Json& document, const ScenarioContext& context) {
  for (const Json& rule : document.at("expect")) {
    Result<bool> holds = condition_holds(rule.value("when", Json::object()), document);
    if (!holds) {
      return in_file(holds.refusal(), context, "expect");
    }
    if (!*holds) {
      continue;
    }
    const Expectation expected{.outcome = outcome_from_name(rule.at("outcome").get<std::string>()),
                               .code = rule.value("code", "")};
    if (expected.code.empty() != (expected.outcome == engine::Outcome::kRuns)) {
      return bad_file(
          codes::kInvalidValue,
          fmt::format("expect: outcome {} {} a code", rule.at("outcome").get<std::string>(),
                      expected.code.empty() ? "needs" : "has no"),
          context, "give a code with every outcome but runs");
    }
    return expected;
  }
  return bad_file(
      codes::kInvalidValue,
      fmt::format("no rule of expect holds for {}", document.at("name").get<std::string>()),
      context, "end the list with a rule without `when`");
}

Result<std::vector<Measure>> read_measures(const Json& document, const ScenarioContext& context) {
  std::vector<Measure> measures;
  for (const Json& row : document.value("measure", Json::array())) {
    Measure measure{.metric = row.at("metric").get<std::string>(),
                    .within_limit = row.contains("within_limit"),
                    .reference = row.value("reference", 0.0),
                    .lower = std::nullopt,
                    .upper = std::nullopt};
    if (measure.within_limit == row.contains("reference")) {
      return bad_file(
          codes::kInvalidValue,
          fmt::format("measure: {} needs either a reference or within_limit", measure.metric),
          context, "name one of the two");
    }
    std::vector<std::string_view> known;
    for (const MetricDefinition& definition : metric_definitions()) {
      known.push_back(definition.name);
    }
    if (std::find(known.begin(), known.end(), measure.metric) == known.end() &&
        !is_throughput_metric(measure.metric, document)) {
      return bad_file(codes::kUnknownOption,
                      fmt::format("measure: unknown metric '{}'", measure.metric), context,
                      suggest_name(measure.metric, known));
    }
    read_field(row, "lower", measure.lower);
    read_field(row, "upper", measure.upper);
    Result<bool> holds = condition_holds(row.value("when", Json::object()), document);
    if (!holds) {
      return in_file(holds.refusal(), context, "measure");
    }
    if (*holds) {
      measures.push_back(std::move(measure));
    }
  }
  return measures;
}

// Every replica runs forwards of its own request; the first arm stands for the scenario.
void time_forwards(engine::ThroughputSpec spec, Scenario& scenario) {
  scenario.options = spec.arms.front().options;
  scenario.requests.count = static_cast<std::uint32_t>(scenario.parallel.data_parallel_size);
  scenario.throughput = std::move(spec);
}

Result<Scenario> read_instance(const MatrixInstance& instance, const ScenarioContext& context) {
  const Json& document = instance.document;
  // Values of the matrix were put in after the file was checked.
  if (Status valid = check_schema(document, context.file.string()); !valid) {
    return valid.refusal();
  }
  Scenario scenario;
  scenario.name = instance.name;
  scenario.file = context.file;
  auto model = read_model(document, context);
  auto parallel = read_parallel(document, context);
  auto options = read_options(document, context.file.string());
  auto throughput = read_throughput(document, context.file.string());
  auto expected = read_expectation(document, context);
  auto measures = read_measures(document, context);
  auto platform = read_platform(document, context);
  if (!model || !parallel || !options || !expected || !measures || !platform || !throughput) {
    return !model      ? model.refusal()
           : !parallel ? parallel.refusal()
           : !options  ? options.refusal()
           : !expected ? expected.refusal()
           : !measures ? measures.refusal()
           : !platform ? platform.refusal()
                       : throughput.refusal();
  }
  scenario.model = *std::move(model);
  scenario.parallel = *std::move(parallel);
  scenario.options = *std::move(options);
  scenario.expected = *std::move(expected);
  scenario.measures = *std::move(measures);
  scenario.requests = read_requests(document, context);
  scenario.platform = *std::move(platform);
  if (throughput->has_value()) {
    time_forwards(*std::move(*throughput), scenario);
  }
  scenario.own_job = document.value("own_job", false);
  scenario.compare_with_resident = document.value("compare_with", "none") == "resident";
  return scenario;
}

}  // namespace

std::string ModelChoice::label() const {
  std::string name = checkpoint.string();
  if (generated.has_value()) {
    name = generated->preset;
    if (generated->blocks.has_value()) {
      name += fmt::format(", {} block{}", *generated->blocks, *generated->blocks == 1 ? "" : "s");
    }
  }
  name = fmt::format("{}, {}", name, dtype_name(dtype));
  if (generated.has_value() && generated->stored_dtype.has_value()) {
    name += fmt::format(", {} on disk", *generated->stored_dtype);
  }
  if (compute_dtype != DType::kF32) {
    name += fmt::format(", {} arithmetic", dtype_name(compute_dtype));
  }
  if (fused_projections) {
    name += ", fused projections";
  }
  return attention == engine::ModelSpec{}.attention
             ? name
             : fmt::format("{}, {} attention", name, attention);
}

TopologySizes topology_of(const config::ParallelConfig& parallel) {
  TopologySizes sizes{.dp = parallel.data_parallel_size,
                      .sp = config::sequence_size(parallel),
                      .tp = parallel.tensor_parallel_size,
                      .hsdp = 1};
  if (parallel.use_hsdp) {
    const bool derived = parallel.hsdp_shard_size < 1;
    sizes.hsdp = derived && config::sizes_positive(parallel) ? config::world_size(parallel)
                                                             : parallel.hsdp_shard_size;
  }
  return sizes;
}

Result<std::vector<Scenario>> read_scenarios(const Json& document, const ScenarioContext& context) {
  if (Status valid = check_schema(document, context.file.string()); !valid) {
    return valid.refusal();
  }
  Result<std::vector<MatrixInstance>> instances = expand_matrix(document, context.file.string());
  if (!instances) {
    return instances.refusal();
  }
  std::vector<Scenario> scenarios;
  for (const MatrixInstance& instance : *instances) {
    Result<Scenario> scenario = read_instance(instance, context);
    if (!scenario) {
      return scenario.refusal();
    }
    scenarios.push_back(*std::move(scenario));
  }
  return scenarios;
}

}  // namespace dlo::harness
