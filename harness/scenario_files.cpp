#include "harness/scenario_files.h"

#include <fmt/format.h>

#include <map>

#include "base/bytes.h"
#include "base/codes.h"
#include "base/sha256.h"

namespace dlo::harness {
namespace {

constexpr std::uint64_t kScenarioBytesMax = 4 * kMiB;
constexpr int kFolderDepthMax = 16;
constexpr std::string_view kSchemaName = "schema.json";

using platform::FileKind;
using platform::FileSystem;
using platform::Path;

Status collect(const FileSystem& files, const Path& path, int depth, std::vector<Path>& found) {
  Result<platform::FileInfo> info = files.stat(path);
  if (!info) {
    return info.refusal();
  }
  if (info->kind != FileKind::kDirectory) {
    found.push_back(path);
    return {};
  }
  if (depth >= kFolderDepthMax) {
    return refuse(codes::kInvalidValue, "folders are nested too deeply", path.string(),
                  "pass the scenario's own folder");
  }
  Result<std::vector<std::string>> names = files.list(path);
  if (!names) {
    return names.refusal();
  }
  for (const std::string& name : *names) {
    const Path child = path / name;
    Result<platform::FileInfo> child_info = files.stat(child);
    const bool folder = child_info.ok() && child_info->kind == FileKind::kDirectory;
    if (folder || (child.extension() == ".json" && name != kSchemaName)) {
      if (Status status = collect(files, child, depth + 1, found); !status) {
        return status;
      }
    }
  }
  return {};
}

Result<Json> parse_document(const std::string& text, const Path& path) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {  // a number too large is no parse_error
    return refuse(codes::kInvalidValue, fmt::format("not JSON: {}", error.what()), path.string(),
                  "mend the file");
  }
}

// A checkpoint is named relative to the scenario's folder or one above it, so that a repository's
// scenarios work from any directory.
Path find_checkpoint(const FileSystem& files, const Path& file, const Path& checkpoint) {
  if (checkpoint.is_absolute()) {
    return checkpoint;
  }
  const Path folder = file.parent_path().empty() ? Path(".") : file.parent_path();
  std::error_code error;
  const Path absolute = std::filesystem::absolute(folder, error);
  for (Path at = (error ? folder : absolute).lexically_normal();; at = at.parent_path()) {
    if (files.stat(at / checkpoint).ok()) {
      return at / checkpoint;
    }
    if (!at.has_relative_path()) {
      return folder / checkpoint;
    }
  }
}

Status refuse_twins(const std::vector<Scenario>& scenarios) {
  std::map<std::string, Path> seen;
  for (const Scenario& scenario : scenarios) {
    const auto [twin, is_new] = seen.emplace(scenario.name, scenario.file);
    if (!is_new) {
      return refuse(codes::kInvalidValue,
                    fmt::format("two scenarios are called {}, the other one in {}", scenario.name,
                                twin->second.string()),
                    scenario.file.string(), "give each its own name");
    }
  }
  return {};
}

Status read_file(const FileSystem& files, const Path& path, std::uint64_t run_seed, Sha256& digest,
                 std::vector<Scenario>& scenarios) {
  Result<std::string> text = files.read_text(path, kScenarioBytesMax);
  if (!text) {
    return text.refusal();
  }
  digest.update(fmt::format("{}\n{}\n", path.filename().string(), text->size()));
  digest.update(*text);
  Result<Json> document = parse_document(*text, path);
  if (!document) {
    return document.refusal();
  }
  Result<std::vector<Scenario>> read =
      read_scenarios(*document, ScenarioContext{.file = path, .run_seed = run_seed});
  if (!read) {
    return read.refusal();
  }
  for (Scenario& scenario : *read) {
    if (!scenario.model.generated.has_value()) {
      scenario.model.folder = find_checkpoint(files, path, scenario.model.checkpoint);
    }
    scenarios.push_back(std::move(scenario));
  }
  return {};
}

}  // namespace

Result<ScenarioSet> load_scenarios(const FileSystem& files, const std::vector<Path>& paths,
                                   std::uint64_t run_seed) {
  ScenarioSet set;
  Sha256 digest;
  for (const Path& path : paths) {
    std::vector<Path> found;
    if (Status status = collect(files, path, 0, found); !status) {
      return status.refusal();
    }
    if (found.empty()) {
      return refuse(codes::kFileNotFound, "no scenario file (*.json) in this folder", path.string(),
                    "pass a scenario file or a folder with some");
    }
    for (const Path& file : found) {
      if (Status status = read_file(files, file, run_seed, digest, set.scenarios); !status) {
        return status.refusal();
      }
    }
  }
  if (Status status = refuse_twins(set.scenarios); !status) {
    return status.refusal();
  }
  set.digest = digest.hex_digest();
  return set;
}

}  // namespace dlo::harness
