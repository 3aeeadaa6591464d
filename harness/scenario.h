// Owns: Scenario, one instance that can be run: what to run, where, and what is expected of it;
// and reading scenario files into instances.
// Must not own: running (runner.h) or verdicts (expectations.h). Plain values.
// Failure: Refusals that name the file and the place; a file is read whole or not at all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/offload_options.h"
#include "config/parallel_config.h"
#include "engine/run_report.h"
#include "harness/json.h"
#include "harness/results.h"
#include "platform/file_system.h"

namespace dlo::harness {

// A checkpoint that the harness generates before the run.
struct GeneratedModel {
  std::string preset;
  std::uint64_t seed = 0;
  std::optional<std::int64_t> blocks;       // none: the preset's own number
  std::optional<std::string> stored_dtype;  // on disk; none: as it runs

  friend bool operator==(const GeneratedModel&, const GeneratedModel&) = default;
};

struct ModelChoice {
  platform::Path checkpoint;  // as the file names it; empty when generated
  platform::Path folder;      // where that lies; of a generated one, the scratch
  std::optional<GeneratedModel> generated;
  DType dtype = DType::kF32;
  bool keep_fp32_modules = true;
  DType compute_dtype = DType::kF32;
  std::string attention = engine::ModelSpec{}.attention;
  bool fused_projections = false;

  // "wan_cpu, 4 blocks, F32" or "wan_tiny/checkpoint, F32".
  [[nodiscard]] std::string label() const;
};

struct Expectation {
  engine::Outcome outcome = engine::Outcome::kRuns;
  std::string code;  // empty with kRuns

  friend bool operator==(const Expectation&, const Expectation&) = default;
};

// A figure held against a reference, or against the limit that its own run found, as in
// scenarios/schema.json.
struct Measure {
  std::string metric;
  bool within_limit = false;
  double reference = 0;  // unless within_limit
  std::optional<double> lower;
  std::optional<double> upper;
};

struct Scenario {
  std::string name;
  platform::Path file;
  ModelChoice model;
  config::OffloadOptions options;
  config::ParallelConfig parallel;
  engine::RequestSpec requests;
  engine::PlatformSpec platform;
  Expectation expected;
  std::vector<Measure> measures;
  bool compare_with_resident = false;
  bool own_job = false;  // nothing may run before it in its processes
  // Forwards are timed in place of serving requests; `options` are those of the first arm.
  std::optional<engine::ThroughputSpec> throughput;

  [[nodiscard]] bool streams() const { return options.enable_distributed_layerwise_offload; }
  // A rank dies or stops: nothing can follow in the same job.
  [[nodiscard]] bool ends_its_world() const { return platform.crash.has_value(); }
};

// As results.json shows it.
[[nodiscard]] TopologySizes topology_of(const config::ParallelConfig& parallel);

// What reading a file needs beside its text.
struct ScenarioContext {
  platform::Path file;
  std::uint64_t run_seed = 0;  // where the file names no seed
};

// Instances of one document, in matrix order. Codes: unknown_option, invalid_value.
[[nodiscard]] Result<std::vector<Scenario>> read_scenarios(const Json& document,
                                                           const ScenarioContext& context);

}  // namespace dlo::harness
