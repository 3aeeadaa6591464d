#include "harness/verdict_log.h"

#include <fmt/format.h>

#include <span>

#include "base/bytes.h"
#include "base/codes.h"
#include "engine/run_report_json.h"
#include "harness/fault_checks.h"

namespace dlo::harness {
namespace {

constexpr std::uint64_t kVerdictBytesMax = 16 * kMiB;

platform::Path verdict_path(const platform::Path& out, int rank) {
  return out / kVerdictsFolder / fmt::format("rank-{}.json", rank);
}

Json to_json(const ScenarioEnding& ending) {
  Json outputs = Json::array();
  for (const engine::RequestDigest& output : ending.outputs) {
    outputs.push_back({{"request", output.request}, {"sha256", output.sha256}});
  }
  return Json{{"scenario", ending.scenario},
              {"outcome", ending.outcome},
              {"code", ending.code},
              {"message", ending.message},
              {"weight_group", ending.weight_group},
              {"outputs", outputs},
              {"leaks", ending.leaks},
              {"resources", engine::resources_to_json(ending.resources)},
              {"ended_at_ns", ending.ended_at_ns}};
}

ScenarioEnding ending_from_json(const Json& json) {
  ScenarioEnding ending{.scenario = json.at("scenario").get<std::string>(),
                        .outcome = json.at("outcome").get<std::string>(),
                        .code = json.at("code").get<std::string>(),
                        .message = json.at("message").get<std::string>(),
                        .weight_group = json.at("weight_group").get<std::vector<int>>(),
                        .outputs = {},
                        .leaks = json.at("leaks").get<std::vector<std::string>>(),
                        .resources = engine::resources_from_json(json.at("resources")),
                        .ended_at_ns = json.at("ended_at_ns").get<Nanoseconds>()};
  for (const Json& output : json.at("outputs")) {
    ending.outputs.push_back({.request = output.at("request").get<std::uint32_t>(),
                              .sha256 = output.at("sha256").get<std::string>()});
  }
  return ending;
}

// Not synced: who reads it asks for what a process left behind, not for what a power cut left.
Status write_text(platform::FileSystem& files, const platform::Path& path,
                  const std::string& text) {
  if (Status made = files.make_directories(path.parent_path()); !made) {
    return made;
  }
  Result<platform::TemporaryFile> sibling = platform::create_sibling(files, path);
  if (!sibling) {
    return sibling.refusal();
  }
  if (Status written = sibling->file->write_at(0, std::as_bytes(std::span(text))); !written) {
    return written;
  }
  if (Status closed = sibling->file->close(); !closed) {
    return closed;
  }
  return files.rename(sibling->path, path);
}

}  // namespace

Json to_json(const RankVerdict& verdict) {
  Json endings = Json::array();
  for (const ScenarioEnding& ending : verdict.endings) {
    endings.push_back(to_json(ending));
  }
  return Json{{"rank", verdict.rank},
              {"running", verdict.running},
              {"crash_at_ns", verdict.crash_at_ns ? Json(*verdict.crash_at_ns) : Json(nullptr)},
              {"scenarios", endings}};
}

Result<RankVerdict> verdict_from_json(const Json& json, const std::string& where) {
  try {
    RankVerdict verdict;
    verdict.rank = json.at("rank").get<int>();
    verdict.running = json.at("running").get<std::string>();
    if (!json.at("crash_at_ns").is_null()) {
      verdict.crash_at_ns = json.at("crash_at_ns").get<Nanoseconds>();
    }
    for (const Json& ending : json.at("scenarios")) {
      verdict.endings.push_back(ending_from_json(ending));
    }
    return verdict;
  } catch (const Json::exception& error) {
    return refuse(codes::kInvalidValue, fmt::format("not a verdict file: {}", error.what()), where,
                  "run the job again");
  }
}

Result<RankVerdict> read_verdict(const platform::FileSystem& files, const platform::Path& out,
                                 int rank) {
  const platform::Path path = verdict_path(out, rank);
  Result<std::string> text = files.read_text(path, kVerdictBytesMax);
  if (!text) {
    return text.refusal();
  }
  return verdict_from_json(Json::parse(*text, nullptr, /*allow_exceptions=*/false), path.string());
}

VerdictLog::VerdictLog(platform::FileSystem& files, platform::Clock& clock,
                       const platform::Path& out, int rank)
    : files_(files), clock_(clock), out_(out) {
  verdict_.rank = rank;
}

void VerdictLog::begin(const std::string& scenario) {
  const std::lock_guard lock(mutex_);
  verdict_.running = scenario;
  write();
}

void VerdictLog::note_crash() {
  const std::lock_guard lock(mutex_);
  verdict_.crash_at_ns = clock_.now();
  write();
}

void VerdictLog::end(const std::string& scenario, const engine::RunReport& report) {
  const std::lock_guard lock(mutex_);
  ScenarioEnding ending{.scenario = scenario,
                        .outcome = std::string(engine::outcome_name(report.outcome)),
                        .code = report.code,
                        .message = report.message,
                        .weight_group = {},
                        .outputs = {},
                        .leaks = {},
                        .resources = {},
                        .ended_at_ns = clock_.now()};
  if (report.own.has_value()) {
    const bool ran = report.own->code.empty();
    ending.outcome =
        engine::outcome_name(ran ? engine::Outcome::kRuns : engine::Outcome::kFailsClosed);
    ending.code = report.own->code;
    ending.message = report.own->message;
    ending.weight_group = report.own->weight_group;
    ending.outputs = report.own->outputs;
    ending.leaks = check_leaks(*report.own);
    ending.resources = report.own->resources;
  }
  verdict_.running.clear();
  verdict_.endings.push_back(std::move(ending));
  write();
}

void VerdictLog::write() {
  static_cast<void>(
      write_text(files_, verdict_path(out_, verdict_.rank), to_json(verdict_).dump(1) + "\n"));
}

}  // namespace dlo::harness
