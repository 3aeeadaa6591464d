#include "host_weights/seeded_checkpoint/seeded_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "base/codes.h"
#include "base/value_generator.h"
#include "host_weights/model_index.h"
#include "host_weights/safetensors/writer.h"
#include "host_weights/seeded_checkpoint/checkpoint_texts.h"
#include "host_weights/seeded_checkpoint/staged_directory.h"

namespace dlo::host_weights {

namespace {

using platform::Path;

// Small enough to stay in a core's second-level cache between making and writing.
constexpr std::uint64_t kSliceBytes = kMiB;
// Folders, texts and what a file system rounds up, beside the shard files.
constexpr std::uint64_t kSpaceMarginBytes = 4 * kMiB;

struct CheckpointPlan {
  WanPreset preset;
  WanShape shape;
  std::vector<WanTensor> tensors;
  std::vector<DType> dtypes;
  std::vector<PlannedShard> shards;
  std::vector<WritePlan> files;  // one a shard
  SeededCheckpointReport report;
};

// A run of one tensor that one worker makes and writes.
struct Slice {
  std::size_t shard = 0;
  std::size_t position = 0;  // of the tensor in its shard
  std::uint64_t offset_bytes = 0;
  std::uint64_t bytes = 0;
};

Status check_options(const SeededCheckpointOptions& options) {
  if (options.blocks && (*options.blocks < 1 || *options.blocks > kBlockCountLimit)) {
    return refuse(codes::kInvalidValue, fmt::format("{} blocks were asked for", *options.blocks),
                  "--blocks", fmt::format("ask for 1 to {}", kBlockCountLimit));
  }
  if (options.shard_bytes == 0) {
    return refuse(codes::kInvalidValue, "a shard file of 0 bytes holds nothing", "--shard-bytes",
                  "ask for at least 1");
  }
  return {};
}

Status plan_files(CheckpointPlan& plan) {
  for (const auto& shard : plan.shards) {
    std::vector<PlannedTensor> members;
    for (const auto index : shard.tensors) {
      members.push_back({plan.tensors[index].name, plan.dtypes[index], plan.tensors[index].shape});
    }
    auto file = plan_file(members, {{"format", "pt"}});
    if (!file) {
      return file.refusal();
    }
    plan.report.file_bytes += file->file_bytes();
    plan.files.push_back(std::move(*file));
  }
  return {};
}

Result<CheckpointPlan> plan_checkpoint(const SeededCheckpointOptions& options) {
  const auto preset = wan_preset(options.preset);
  if (!preset) {
    return preset.refusal();
  }
  if (const auto status = check_options(options); !status) {
    return status.refusal();
  }
  CheckpointPlan plan;
  plan.preset = *preset;
  plan.shape = preset->shape;
  plan.shape.num_layers = options.blocks.value_or(preset->shape.num_layers);
  plan.tensors = wan_tensors(plan.shape);
  std::vector<std::uint64_t> sizes;
  for (const auto& tensor : plan.tensors) {
    plan.dtypes.push_back(stored_tensor_dtype(tensor, options.dtype));
    sizes.push_back(tensor_bytes(tensor.shape, plan.dtypes.back()).value());
    plan.report.parameter_count += element_count(tensor.shape).value();
    plan.report.tensor_bytes += sizes.back();
  }
  plan.shards = plan_shards(sizes, options.shard_bytes);
  plan.report.shape = plan.shape;
  plan.report.tensor_count = plan.tensors.size();
  plan.report.shard_count = plan.shards.size();
  if (const auto status = plan_files(plan); !status) {
    return status.refusal();
  }
  return plan;
}

std::vector<Slice> cut_slices(const CheckpointPlan& plan) {
  std::vector<Slice> slices;
  for (std::size_t shard = 0; shard < plan.files.size(); ++shard) {
    const auto& records = plan.files[shard].tensors;
    for (std::size_t position = 0; position < records.size(); ++position) {
      const std::uint64_t total = records[position].size_bytes();
      for (std::uint64_t offset = 0; offset < total; offset += kSliceBytes) {
        slices.push_back({shard, position, offset, std::min(kSliceBytes, total - offset)});
      }
    }
  }
  return slices;
}

// Makes and writes slices until none is left or one failed.
class SliceWorkers {
 public:
  SliceWorkers(const CheckpointPlan& plan, std::uint64_t seed,
               std::vector<SafetensorsWriter>& writers)
      : plan_(plan), seed_(seed), writers_(writers), slices_(cut_slices(plan)) {}

  Status run(platform::Executor& executor) {
    std::vector<Status> outcomes(executor.worker_count());
    executor.parallel_for(outcomes.size(), [&](std::size_t worker) { outcomes[worker] = work(); });
    for (const auto& outcome : outcomes) {
      if (!outcome) {
        return outcome;
      }
    }
    return {};
  }

 private:
  Status work() {
    std::vector<std::byte> buffer(kSliceBytes);
    while (!failed_.load()) {
      const std::size_t next = next_.fetch_add(1);
      if (next >= slices_.size()) {
        break;
      }
      if (auto status = write_slice(slices_[next], ByteSpan(buffer)); !status) {
        failed_.store(true);
        return status;
      }
    }
    return {};
  }

  Status write_slice(const Slice& slice, ByteSpan buffer) {
    const std::size_t index = plan_.shards[slice.shard].tensors[slice.position];
    const DType dtype = plan_.dtypes[index];
    const ByteSpan bytes = buffer.first(slice.bytes);
    fill_seeded_tensor(plan_.tensors[index], seed_, dtype,
                       slice.offset_bytes * 8 / dtype_bits(dtype), bytes);
    return writers_[slice.shard].write(slice.position, slice.offset_bytes, bytes);
  }

  const CheckpointPlan& plan_;
  std::uint64_t seed_;
  std::vector<SafetensorsWriter>& writers_;
  std::vector<Slice> slices_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
};

Status write_shards(platform::FileSystem& files, platform::Executor& executor,
                    const CheckpointPlan& plan, std::uint64_t seed, const Path& folder) {
  std::vector<SafetensorsWriter> writers;
  for (std::size_t i = 0; i < plan.files.size(); ++i) {
    auto writer =
        SafetensorsWriter::create(files, folder / plan.shards[i].file_name, plan.files[i]);
    if (!writer) {
      return writer.refusal();
    }
    writers.push_back(std::move(*writer));
  }
  if (auto status = SliceWorkers(plan, seed, writers).run(executor); !status) {
    return status;
  }
  for (auto& writer : writers) {
    if (auto status = writer.finish(); !status) {
      return status;
    }
  }
  return {};
}

Status write_texts(platform::FileSystem& files, const CheckpointPlan& plan,
                   const SeededCheckpointOptions& options, const Path& root) {
  struct Text {
    Path path;
    std::string text;
  };
  const Path transformer = root / "transformer";
  const Path scheduler = root / "scheduler";
  std::vector<Text> texts = {
      {root / kModelIndexName, model_index_text()},
      {scheduler / "scheduler_config.json", scheduler_config_text(plan.preset.flow_shift)},
      {transformer / "config.json", transformer_config_text(plan.shape, plan.preset, options)}};
  if (plan.shards.size() > 1) {
    texts.push_back({transformer / kShardIndexName, shard_index_text(plan.tensors, plan.shards)});
  }
  for (const Path& folder : {transformer, scheduler}) {
    if (auto status = files.make_directories(folder); !status) {
      return status;
    }
  }
  for (const auto& [path, text] : texts) {
    if (auto status = platform::write_text_atomically(files, path, text); !status) {
      return status;
    }
  }
  return {};
}

}  // namespace

Result<SeededCheckpointReport> create_seeded_checkpoint(platform::FileSystem& files,
                                                        platform::Executor& executor,
                                                        const SeededCheckpointOptions& options) {
  const auto plan = plan_checkpoint(options);
  if (!plan) {
    return plan.refusal();
  }
  auto folder =
      StagedDirectory::open(files, options.out, plan->report.file_bytes + kSpaceMarginBytes);
  if (!folder) {
    return folder.refusal();
  }
  if (const auto status = write_texts(files, *plan, options, folder->path()); !status) {
    return status.refusal();
  }
  if (const auto status =
          write_shards(files, executor, *plan, options.seed, folder->path() / "transformer");
      !status) {
    return status.refusal();
  }
  if (const auto status = folder->publish(); !status) {
    return status.refusal();
  }
  return plan->report;
}

void fill_seeded_tensor(const WanTensor& tensor, std::uint64_t seed, DType dtype,
                        std::uint64_t first_element, ByteSpan out) {
  ValueGenerator(tensor.name, seed)
      .fill_normal(out, dtype, first_element, tensor.mean, tensor.scale);
}

}  // namespace dlo::host_weights
