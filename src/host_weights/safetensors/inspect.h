// Owns: `dlo checkpoint inspect`: every tensor of a file, of a component's folder or of a whole
// diffusers folder with dtype, shape, size and SHA-256, and the report's JSON and text forms.
// Must not own: the command line, exit codes. Digests are computed in parallel on the Executor.
// Failure: the refusals of ComponentCheckpoint and of model_index.json; mapping_truncated when a
// file shrank while it was hashed.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "host_weights/safetensors/checkpoint_index.h"
#include "platform/executor.h"
#include "platform/file_system.h"

namespace dlo::host_weights {

struct InspectedTensor {
  std::string name;  // in a pipeline's folder "<component>.<name in the file>", as at run time
  DType dtype = DType::kF32;
  Shape shape;
  std::uint64_t size_bytes = 0;
  std::string sha256;     // of the raw bytes
  std::string file;       // path relative to the inspected folder; the file's name for a file
  std::string component;  // folder of the component; empty unless a pipeline was inspected
};

struct InspectReport {
  std::vector<InspectedTensor> tensors;  // by name
  std::vector<std::string> notes;
};

// `path`: anything that ComponentCheckpoint::open takes, or a folder with a model_index.json, whose
// components with weights are then inspected together; one without a folder becomes a note.
[[nodiscard]] Result<InspectReport> inspect(const platform::FileSystem& files,
                                            platform::Executor& executor,
                                            const platform::Path& path);

// {"tensors": [{name, dtype, shape, bytes, sha256, file, component}], "notes": [...]}; component
// only in a pipeline's folder, notes only where there are some.
[[nodiscard]] nlohmann::ordered_json inspect_json(const InspectReport& report);

// {"error": {code, message}}, with "kind" for a refused header: the reference library's words.
[[nodiscard]] nlohmann::ordered_json inspect_error_json(const Refusal& refusal);

// A table for people, with a total.
[[nodiscard]] std::string inspect_text(const InspectReport& report);

}  // namespace dlo::host_weights
