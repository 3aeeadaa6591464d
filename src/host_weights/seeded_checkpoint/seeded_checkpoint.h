// Owns: making a checkpoint folder in diffusers' layout (model_index.json, transformers with shards
// and index, scheduler) whose values come from (tensor name, seed) alone: the same bytes at any
// thread count and on any machine, any tensor can be made again alone.
// Must not own: which tensors there are (presets.h), the safetensors format (safetensors/).
// Threading: one caller; values are made and written on the executor's workers.
// Failure: refusals; the folder appears whole or not at all (staged_directory.h).
// Source: models.md 7 ("Making weights").
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "host_weights/seeded_checkpoint/presets.h"
#include "host_weights/seeded_checkpoint/seeded_tensors.h"
#include "host_weights/seeded_checkpoint/shard_plan.h"
#include "platform/executor.h"
#include "platform/file_system.h"

namespace dlo::host_weights {

struct SeededCheckpointOptions {
  std::string preset;                  // of preset_names()
  std::optional<std::int64_t> blocks;  // other depth than the preset's, of each transformer
  std::uint64_t seed = 0;
  StoredDType dtype = StoredDType::kBF16;
  platform::Path out;                              // new or empty folder
  std::uint64_t shard_bytes = kDefaultShardBytes;  // tensor bytes of a shard file at most
};

// Sums over the transformers.
struct SeededCheckpointReport {
  std::uint64_t tensor_count = 0;
  std::uint64_t parameter_count = 0;
  std::uint64_t tensor_bytes = 0;
  std::uint64_t file_bytes = 0;  // of the shard files
  std::uint64_t shard_count = 0;
};

// Makes the folder. A preset of another depth says so in each transformer's config.json, which also
// holds preset, seed and dtype under names with a leading underscore (diffusers passes those over).
// Checked in this order before anything is written: options (invalid_value), the output and its
// parent, free space (file_unwritable).
[[nodiscard]] Result<SeededCheckpointReport> create_seeded_checkpoint(
    platform::FileSystem& files, platform::Executor& executor,
    const SeededCheckpointOptions& options);

// The bytes of one tensor of such a checkpoint, elements [first_element, ...).
// Precondition: out is a whole number of elements of `dtype`.
void fill_seeded_tensor(const SeededTensor& tensor, std::uint64_t seed, DType dtype,
                        std::uint64_t first_element, ByteSpan out);

}  // namespace dlo::host_weights
