#include "host_weights/safetensors/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "base/codes.h"
#include "base/sha256.h"
#include "host_weights/model_index.h"
#include "host_weights/safetensors/quoted_name.h"
#include "host_weights/safetensors/utf8.h"

namespace dlo::host_weights {

namespace {

using platform::FileSystem;
using platform::Path;

// One opened component with the names it gets in the report.
struct Part {
  std::string component;  // empty unless a pipeline is inspected
  ComponentCheckpoint checkpoint;
};

// A tensor to hash, by its place in the report.
struct HashJob {
  TensorView view;
  std::size_t index = 0;
};

// What cannot be looked up is not absent.
Result<bool> exists(const FileSystem& files, const Path& path) {
  const auto info = files.stat(path);
  if (!info && info.refusal().code != codes::kFileNotFound) {
    return info.refusal();
  }
  return info.ok();
}

// A model has a config.json; what has none and no weights either (tokenizer, scheduler) has nothing
// to inspect. Any other refusal is the component's.
Result<bool> has_no_weights_by_nature(const FileSystem& files, const Path& folder,
                                      const Refusal& refusal) {
  if (refusal.code != codes::kEmptyCheckpoint) {
    return false;
  }
  const auto has_config = exists(files, folder / "config.json");
  return has_config ? Result<bool>(!*has_config) : has_config;
}

// Components that were not downloaded become notes: many use only the transformer of a pipeline.
Result<std::deque<Part>> open_pipeline(const FileSystem& files, const Path& root,
                                       std::vector<std::string>& notes) {
  const auto index = read_model_index(files, root);
  if (!index) {
    return index.refusal();
  }
  std::deque<Part> parts;
  for (const auto& entry : index->components) {
    const auto folder = root / entry.name;
    const auto info = files.stat(folder);
    if (!info && info.refusal().code == codes::kFileNotFound) {
      notes.push_back("component " + quoted_name(entry.name) + " has no folder");
      continue;
    }
    auto checkpoint = ComponentCheckpoint::open(files, folder);
    if (checkpoint) {
      parts.push_back({entry.name, std::move(*checkpoint)});
      continue;
    }
    const auto by_nature = has_no_weights_by_nature(files, folder, checkpoint.refusal());
    if (!by_nature) {
      return by_nature.refusal();
    }
    if (!*by_nature) {
      return checkpoint.refusal();
    }
  }
  if (parts.empty()) {
    return refuse(codes::kEmptyCheckpoint, "no component of the pipeline has weights",
                  root.string(), "name a folder with the weights of a pipeline");
  }
  return parts;
}

Result<std::deque<Part>> open_parts(const FileSystem& files, const Path& path,
                                    std::vector<std::string>& notes) {
  const auto is_pipeline = exists(files, path / kModelIndexName);
  if (!is_pipeline) {
    return is_pipeline.refusal();
  }
  if (*is_pipeline) {
    return open_pipeline(files, path, notes);
  }
  auto checkpoint = ComponentCheckpoint::open(files, path);
  if (!checkpoint) {
    return checkpoint.refusal();
  }
  std::deque<Part> parts;
  parts.push_back({"", std::move(*checkpoint)});
  return parts;
}

InspectedTensor describe(const Part& part, const ComponentTensor& tensor) {
  const auto& record = part.checkpoint.record(tensor);
  const auto file = part.checkpoint.files()[tensor.file_index].path().filename().string();
  const auto dot = part.component.empty() ? "" : ".";
  const auto slash = part.component.empty() ? "" : "/";
  return {part.component + dot + record.name, record.dtype,  record.shape, record.size_bytes(), {},
          part.component + slash + file,      part.component};
}

// Paths may hold any bytes; a JSON text may not.
std::string json_text(const std::string& text) {
  return first_invalid_utf8(text) ? printable_text(text) : text;
}

// Largest first, so that no worker is left with the largest one at the end.
void hash_all(platform::Executor& executor, std::vector<HashJob>& jobs,
              std::vector<InspectedTensor>& tensors) {
  std::stable_sort(jobs.begin(), jobs.end(), [](const HashJob& a, const HashJob& b) {
    return a.view.bytes.size() > b.view.bytes.size();
  });
  executor.parallel_for(jobs.size(), [&](std::size_t i) {
    tensors[jobs[i].index].sha256 = sha256_hex(jobs[i].view.bytes);
  });
}

}  // namespace

Result<InspectReport> inspect(const FileSystem& files, platform::Executor& executor,
                              const Path& path) {
  InspectReport report;
  const auto parts = open_parts(files, path, report.notes);
  if (!parts) {
    return parts.refusal();
  }
  std::vector<HashJob> jobs;
  for (const auto& part : *parts) {
    for (const auto& tensor : part.checkpoint.tensors()) {
      jobs.push_back({part.checkpoint.view(tensor), report.tensors.size()});
      report.tensors.push_back(describe(part, tensor));
    }
    for (const auto& note : part.checkpoint.notes()) {
      report.notes.push_back(part.component.empty() ? note : part.component + ": " + note);
    }
  }
  hash_all(executor, jobs, report.tensors);
  for (const auto& part : *parts) {
    if (const auto status = part.checkpoint.check_intact(); !status) {
      return status.refusal();
    }
  }
  std::sort(report.tensors.begin(), report.tensors.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return report;
}

nlohmann::ordered_json inspect_json(const InspectReport& report) {
  auto rows = nlohmann::ordered_json::array();
  for (const auto& tensor : report.tensors) {
    nlohmann::ordered_json row = {{"name", tensor.name},     {"dtype", dtype_name(tensor.dtype)},
                                  {"shape", tensor.shape},   {"bytes", tensor.size_bytes},
                                  {"sha256", tensor.sha256}, {"file", json_text(tensor.file)}};
    if (!tensor.component.empty()) {
      row["component"] = tensor.component;
    }
    rows.push_back(std::move(row));
  }
  nlohmann::ordered_json json;
  json["tensors"] = std::move(rows);
  if (!report.notes.empty()) {
    auto& notes = json["notes"] = nlohmann::ordered_json::array();
    for (const auto& note : report.notes) {
      notes.push_back(json_text(note));
    }
  }
  return json;
}

nlohmann::ordered_json inspect_error_json(const Refusal& refusal) {
  nlohmann::ordered_json error = {{"code", refusal.code},
                                  {"message", json_text(refusal.message())}};
  if (const auto kind = header_error_kind(refusal)) {
    error["kind"] = header_error_text(*kind);
  }
  nlohmann::ordered_json json;
  json["error"] = std::move(error);
  return json;
}

std::string inspect_text(const InspectReport& report) {
  std::string text;
  std::uint64_t total_bytes = 0;
  for (const auto& tensor : report.tensors) {
    total_bytes += tensor.size_bytes;
    const auto quoted = quoted_name(tensor.name);
    text +=
        fmt::format("{}  {:<4} {}  {}  {}\n", tensor.sha256.substr(0, 16), dtype_name(tensor.dtype),
                    shape_text(tensor.shape), format_bytes(tensor.size_bytes), quoted);
  }
  for (const auto& note : report.notes) {
    text += "note: " + note + "\n";
  }
  return text + fmt::format("{} tensors, {}\n", report.tensors.size(), format_bytes(total_bytes));
}

}  // namespace dlo::host_weights
