// Owns: ordinary loading: every tensor that a model expects, read from its component sources into
// private host memory through its CopyRecipe, converted to the runtime dtype, with strict coverage.
// Must not own: mapped plans (preflight), placement on a device (backend), file formats.
// Threading: called on the launching thread, which allocates; copies run on the executor's workers.
// Failure: refusals in a fixed order, each before the next step begins: sources, recipes and
// coverage, shapes, dtypes, memory, bytes. On failure nothing is kept.
// Source: behaviour.md 2.1 and 2.5.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "contracts/copy_recipe.h"
#include "contracts/parameter_table.h"
#include "host_weights/component_source.h"
#include "host_weights/private_tensors.h"
#include "platform/device.h"
#include "platform/executor.h"
#include "platform/file_system.h"

namespace dlo::host_weights {

// Reference: four threads over the shards of a source.
inline constexpr std::size_t kDefaultLoadThreads = 4;

struct LoadRequest {
  std::vector<ComponentSource> sources;
  std::vector<const contracts::TensorSpec*> tensors;  // ParameterTable::tensors()
  // By runtime name; every other tensor is its own checkpoint key behind the source's prefix, and
  // its stored shape must equal the runtime shape. Keys of a recipe are without the prefix.
  std::map<std::string, contracts::CopyRecipe> recipes;
  std::set<std::string> planned;  // runtime names that a mapped plan serves; not loaded
  // Sources that are not opened, for every tensor of theirs is planned.
  std::set<std::string> planned_source_prefixes;
  std::size_t thread_count = kDefaultLoadThreads;
};

struct LoadReport {
  std::uint64_t tensor_count = 0;
  std::uint64_t private_bytes = 0;     // held afterwards
  std::uint64_t file_bytes = 0;        // of the boxes that were read
  std::uint64_t converted_count = 0;   // tensors stored in another dtype than they run in
  std::vector<std::string> tolerated;  // missing names that only deserve a warning
  std::vector<std::string> unused;     // source names that no tensor wanted, sorted
};

struct LoadedTensors {
  std::unique_ptr<PrivateTensors> tensors;
  LoadReport report;
};

// Codes: those of SourceTensors::open; missing_tensor (count and first five names), shape_mismatch,
// dtype_mismatch, host_out_of_memory, mapping_truncated. `device` outlives the result.
[[nodiscard]] Result<LoadedTensors> load_ordinary(const platform::FileSystem& files,
                                                  platform::Device& device,
                                                  platform::Executor& executor,
                                                  const LoadRequest& request);

}  // namespace dlo::host_weights
