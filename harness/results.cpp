#include "harness/results.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/codes.h"

namespace dlo::harness {
namespace {

// A sweep of a few hundred scenarios takes about 1 MiB.
constexpr std::uint64_t kResultsBytesMax = 256 * kMiB;

Json to_json(const TopologySizes& topology) {
  return Json{
      {"dp", topology.dp}, {"sp", topology.sp}, {"tp", topology.tp}, {"hsdp", topology.hsdp}};
}

TopologySizes topology_from_json(const Json& json) {
  return TopologySizes{.dp = json.at("dp").get<std::int64_t>(),
                       .sp = json.at("sp").get<std::int64_t>(),
                       .tp = json.at("tp").get<std::int64_t>(),
                       .hsdp = json.at("hsdp").get<std::int64_t>()};
}

template <typename T>
Json null_or(const std::optional<T>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

Json to_json(const Metric& metric) {
  return Json{{"name", metric.name},
              {"value", metric.value},
              {"unit", metric.unit},
              {"samples", metric.samples},
              {"limit", null_or(metric.limit)}};
}

Metric metric_from_json(const Json& json) {
  Metric metric{.name = json.at("name").get<std::string>(),
                .value = json.at("value").get<double>(),
                .unit = json.at("unit").get<std::string>(),
                .samples = json.at("samples").get<std::uint64_t>(),
                .limit = std::nullopt};
  if (!json.at("limit").is_null()) {
    metric.limit = json.at("limit").get<double>();
  }
  return metric;
}

Json to_json(const ScenarioResult& scenario) {
  Json metrics = Json::array();
  for (const Metric& metric : scenario.metrics) {
    metrics.push_back(to_json(metric));
  }
  Json json{
      {"name", scenario.name},
      {"model", scenario.model},
      {"device", scenario.device},
      {"attention", scenario.attention},
      {"compute_dtype", scenario.compute_dtype},
      {"gather", scenario.gather},
      {"topology", to_json(scenario.topology)},
      {"options", scenario.options},
      {"effective", scenario.effective},
      {"outcome", scenario.outcome},
      {"code", scenario.code},
      {"message", scenario.message},
      {"expected", {{"outcome", scenario.expected_outcome}, {"code", scenario.expected_code}}},
      {"passed", scenario.passed},
      {"failed_checks", scenario.failed_checks},
      {"bytes_equal", null_or(scenario.bytes_equal)},
      {"compared_with", scenario.compared_with},
      {"output_digest", scenario.output_digest},
      {"metrics", metrics},
      {"ranks", scenario.ranks}};
  if (!scenario.throughput.is_null()) {
    json["throughput"] = scenario.throughput;
  }
  return json;
}

ScenarioResult scenario_from_json(const Json& json) {
  ScenarioResult scenario;
  scenario.name = json.at("name").get<std::string>();
  scenario.model = json.at("model").get<std::string>();
  scenario.device = json.value("device", scenario.device);
  scenario.attention = json.value("attention", scenario.attention);
  scenario.compute_dtype = json.value("compute_dtype", scenario.compute_dtype);
  scenario.gather = json.value("gather", scenario.gather);
  scenario.throughput = json.value("throughput", Json());
  scenario.topology = topology_from_json(json.at("topology"));
  scenario.options = json.at("options");
  scenario.effective = json.at("effective");
  scenario.outcome = json.at("outcome").get<std::string>();
  scenario.code = json.at("code").get<std::string>();
  scenario.message = json.at("message").get<std::string>();
  scenario.expected_outcome = json.at("expected").at("outcome").get<std::string>();
  scenario.expected_code = json.at("expected").at("code").get<std::string>();
  scenario.passed = json.at("passed").get<bool>();
  scenario.failed_checks = json.at("failed_checks").get<std::vector<std::string>>();
  if (!json.at("bytes_equal").is_null()) {
    scenario.bytes_equal = json.at("bytes_equal").get<bool>();
  }
  scenario.compared_with = json.at("compared_with").get<std::string>();
  scenario.output_digest = json.at("output_digest").get<std::string>();
  for (const Json& metric : json.at("metrics")) {
    scenario.metrics.push_back(metric_from_json(metric));
  }
  scenario.ranks = json.at("ranks");
  return scenario;
}

Json to_json(const RunInfo& run) {
  return Json{{"commit", run.commit},         {"command", run.command},      {"host", run.host},
              {"world_size", run.world_size}, {"build", run.build},          {"seed", run.seed},
              {"started_at", run.started_at}, {"duration_s", run.duration_s}};
}

RunInfo run_from_json(const Json& json) {
  return RunInfo{.commit = json.at("commit").get<std::string>(),
                 .command = json.at("command").get<std::string>(),
                 .host = json.at("host").get<std::string>(),
                 .world_size = json.at("world_size").get<int>(),
                 .build = json.at("build"),
                 .seed = json.at("seed").get<std::uint64_t>(),
                 .started_at = json.at("started_at").get<std::string>(),
                 .duration_s = json.at("duration_s").get<double>()};
}

Refusal invalid_results(const std::string& what, const std::string& where) {
  return refuse(codes::kInvalidValue, what, where,
                "pass a folder that dlo run or dlo sweep of this version wrote");
}

}  // namespace

std::string TopologySizes::text() const {
  std::string text = fmt::format("DP {}", dp);
  const auto add = [&text](std::string_view name, std::int64_t size) {
    if (size != 1) {
      text += fmt::format(", {} {}", name, size);
    }
  };
  add("SP", sp);
  add("TP", tp);
  add("HSDP", hsdp);
  return text;
}

std::size_t Results::passed_count() const {
  return static_cast<std::size_t>(
      std::count_if(scenarios.begin(), scenarios.end(),
                    [](const ScenarioResult& scenario) { return scenario.passed; }));
}

Json to_json(const Results& results) {
  Json scenarios = Json::array();
  for (const ScenarioResult& scenario : results.scenarios) {
    scenarios.push_back(to_json(scenario));
  }
  Json skipped = Json::array();
  for (const SkippedScenario& scenario : results.skipped) {
    skipped.push_back(Json{{"name", scenario.name},
                           {"topology", to_json(scenario.topology)},
                           {"reason", scenario.reason}});
  }
  return Json{{"schema_version", kResultsSchemaVersion},
              {"run", to_json(results.run)},
              {"scenarios", scenarios},
              {"skipped", skipped}};
}

Result<Results> results_from_json(const Json& json, const std::string& where) {
  try {
    const int version = json.at("schema_version").get<int>();
    if (version != kResultsSchemaVersion) {
      return invalid_results(
          fmt::format("schema_version is {}, not {}", version, kResultsSchemaVersion), where);
    }
    Results results;
    results.run = run_from_json(json.at("run"));
    for (const Json& scenario : json.at("scenarios")) {
      results.scenarios.push_back(scenario_from_json(scenario));
    }
    for (const Json& skipped : json.at("skipped")) {
      results.skipped.push_back({.name = skipped.at("name").get<std::string>(),
                                 .topology = topology_from_json(skipped.at("topology")),
                                 .reason = skipped.at("reason").get<std::string>()});
    }
    return results;
  } catch (const Json::exception& error) {
    return invalid_results(fmt::format("not a results file: {}", error.what()), where);
  }
}

Result<Results> read_results(const platform::FileSystem& files, const platform::Path& directory) {
  const platform::Path path = directory / kResultsFileName;
  Result<std::string> text = files.read_text(path, kResultsBytesMax);
  if (!text) {
    return text.refusal();
  }
  const Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    return invalid_results("not JSON", path.string());
  }
  return results_from_json(json, path.string());
}

Status write_results(platform::FileSystem& files, const platform::Path& directory,
                     const Results& results) {
  return platform::write_text_atomically(files, directory / kResultsFileName,
                                         to_json(results).dump(1) + "\n");
}

}  // namespace dlo::harness
