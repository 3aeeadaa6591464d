#include "host_weights/seeded_checkpoint/seeded_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "base/codes.h"
#include "base/value_generator.h"
#include "host_weights/dtype_conversion.h"
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

// One transformer's folder.
struct ComponentPlan {
  SeededComponent component;
  std::vector<DType> dtypes;
  std::vector<PlannedShard> shards;
  std::vector<WritePlan> files;  // one a shard
};

struct CheckpointPlan {
  SeededModel model;  // its transformers are in `components`
  std::vector<ComponentPlan> components;
  SeededCheckpointReport report;
};

// A run of one tensor that one worker makes and writes.
struct Slice {
  std::size_t shard = 0;
  std::size_t position = 0;  // of the tensor in its shard
  std::uint64_t offset_bytes = 0;
  std::uint64_t bytes = 0;
};

Status plan_files(ComponentPlan& plan, SeededCheckpointReport& report) {
  for (const auto& shard : plan.shards) {
    std::vector<PlannedTensor> members;
    for (const auto index : shard.tensors) {
      const auto& tensor = plan.component.tensors[index];
      members.push_back({tensor.name, plan.dtypes[index], tensor.shape});
    }
    auto file = plan_file(members, {{"format", "pt"}});
    if (!file) {
      return file.refusal();
    }
    report.file_bytes += file->file_bytes();
    plan.files.push_back(std::move(*file));
  }
  return {};
}

Status plan_component(const SeededCheckpointOptions& options, SeededComponent component,
                      CheckpointPlan& whole) {
  auto& report = whole.report;
  ComponentPlan plan;
  plan.component = std::move(component);
  std::vector<std::uint64_t> sizes;
  for (const auto& tensor : plan.component.tensors) {
    plan.dtypes.push_back(stored_tensor_dtype(tensor, options.dtype));
    sizes.push_back(tensor_bytes(tensor.shape, plan.dtypes.back()).value());
    report.parameter_count += element_count(tensor.shape).value();
    report.tensor_bytes += sizes.back();
  }
  plan.shards = plan_shards(sizes, options.shard_bytes);
  report.tensor_count += plan.component.tensors.size();
  report.shard_count += plan.shards.size();
  if (auto status = plan_files(plan, report); !status) {
    return status;
  }
  plan.component.config["_dlo_preset"] = whole.model.preset;
  plan.component.config["_dlo_preset_blocks"] = whole.model.preset_blocks;
  plan.component.config["_dlo_seed"] = options.seed;
  plan.component.config["_dlo_stored_dtype"] = stored_dtype_name(options.dtype);
  whole.components.push_back(std::move(plan));
  return {};
}

Result<CheckpointPlan> plan_checkpoint(const SeededCheckpointOptions& options) {
  auto model = seeded_model(options.preset, options.blocks);
  if (!model) {
    return model.refusal();
  }
  if (options.shard_bytes == 0) {
    return refuse(codes::kInvalidValue, "a shard file of 0 bytes holds nothing", "--shard-bytes",
                  "ask for at least 1");
  }
  CheckpointPlan plan;
  plan.model = std::move(*model);
  for (auto& component : std::exchange(plan.model.transformers, {})) {
    if (auto status = plan_component(options, std::move(component), plan); !status) {
      return status.refusal();
    }
  }
  return plan;
}

std::vector<Slice> cut_slices(const ComponentPlan& plan) {
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
  SliceWorkers(const ComponentPlan& plan, std::uint64_t seed,
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
    fill_seeded_tensor(plan_.component.tensors[index], seed_, dtype,
                       slice.offset_bytes * 8 / dtype_bits(dtype), bytes);
    return writers_[slice.shard].write(slice.position, slice.offset_bytes, bytes);
  }

  const ComponentPlan& plan_;
  std::uint64_t seed_;
  std::vector<SafetensorsWriter>& writers_;
  std::vector<Slice> slices_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
};

Status write_shards(platform::FileSystem& files, platform::Executor& executor,
                    const ComponentPlan& plan, std::uint64_t seed, const Path& folder) {
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

Status write_text(platform::FileSystem& files, const Path& path, const nlohmann::json& document) {
  if (auto status = files.make_directories(path.parent_path()); !status) {
    return status;
  }
  return platform::write_text_atomically(files, path, file_text(document));
}

Status write_texts(platform::FileSystem& files, const CheckpointPlan& plan, const Path& root) {
  std::vector<std::pair<Path, nlohmann::json>> texts = {
      {root / kModelIndexName, plan.model.model_index}};
  if (plan.model.scheduler) {
    texts.emplace_back(root / "scheduler" / "scheduler_config.json", *plan.model.scheduler);
  }
  for (const auto& part : plan.components) {
    const Path folder = root / part.component.name;
    texts.emplace_back(folder / "config.json", part.component.config);
    if (part.shards.size() > 1) {
      texts.emplace_back(folder / kShardIndexName,
                         shard_index_json(part.component.tensors, part.shards));
    }
  }
  for (const auto& [path, document] : texts) {
    if (auto status = write_text(files, path, document); !status) {
      return status;
    }
  }
  return {};
}

void fill_inverse_frequencies(const SeededTensor& tensor, DType dtype, std::uint64_t first_element,
                              ByteSpan out) {
  constexpr double kTheta = 10000.0;
  const auto total = static_cast<double>(tensor.shape.at(0));
  std::vector<float> values(out.size() * 8 / dtype_bits(dtype));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double position = static_cast<double>(first_element + i);
    values[i] = static_cast<float>(std::pow(kTheta, -position / total));
  }
  convert_elements(std::as_bytes(std::span(values)), DType::kF32, out, dtype, values.size());
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
  if (const auto status = write_texts(files, *plan, folder->path()); !status) {
    return status.refusal();
  }
  for (const auto& part : plan->components) {
    if (const auto status =
            write_shards(files, executor, part, options.seed, folder->path() / part.component.name);
        !status) {
      return status.refusal();
    }
  }
  if (const auto status = folder->publish(); !status) {
    return status.refusal();
  }
  return plan->report;
}

void fill_seeded_tensor(const SeededTensor& tensor, std::uint64_t seed, DType dtype,
                        std::uint64_t first_element, ByteSpan out) {
  if (tensor.values == SeededValues::kInverseFrequencies) {
    fill_inverse_frequencies(tensor, dtype, first_element, out);
    return;
  }
  ValueGenerator(tensor.stream_name(), seed)
      .fill_normal(out, dtype, first_element, tensor.mean, tensor.scale);
}

}  // namespace dlo::host_weights
