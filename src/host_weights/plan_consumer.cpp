#include "host_weights/plan_consumer.h"

#include <fmt/format.h>

#include "base/codes.h"
#include "host_weights/load_coverage.h"

namespace dlo::host_weights {

namespace {

struct SavedBuffer {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<std::byte> bytes;
};

// All of them before anything is discarded: a parent takes its children along.
std::vector<SavedBuffer> save_buffers(const ModelStorage& storage) {
  std::vector<SavedBuffer> saved;
  for (const auto& name : storage.computed_buffers()) {
    const TensorView view = storage.computed_buffer(name);
    saved.push_back({name, view.dtype, view.shape, {view.bytes.begin(), view.bytes.end()}});
  }
  return saved;
}

void restore_buffers(ModelStorage& storage, const std::vector<SavedBuffer>& saved) {
  for (const auto& buffer : saved) {
    storage.restore(buffer.name, {buffer.dtype, buffer.shape, buffer.bytes});
  }
}

void note_missing(const contracts::BlockSpec& block, const MappedTensors& tensors,
                  std::vector<std::string>& missing) {
  for (const auto& tensor : block.tensors) {
    if (!tensors.holds(tensor.name)) {
      missing.push_back(tensor.name);
    }
  }
}

Status check_materialised(const PlanConsumer& consumer, const MappedTensors& tensors) {
  std::vector<std::string> missing;
  for (const auto* dit : consumer.dits) {
    for (const auto& block : dit->blocks) {
      note_missing(block, tensors, missing);
    }
    note_missing(dit->non_block, tensors, missing);
  }
  if (missing.empty()) {
    return {};
  }
  return refuse(codes::kMissingTensor,
                fmt::format("{} tensors have no bytes after the plan was consumed: {}",
                            missing.size(), first_names(missing)),
                "plan", "report it: the plan was made for another model");
}

}  // namespace

Result<std::unique_ptr<MappedTensors>> consume_plan(const platform::FileSystem& files,
                                                    platform::Device& device,
                                                    const contracts::HostWeightPlan& plan,
                                                    const PlanConsumer& consumer,
                                                    std::vector<std::string>& events) {
  std::vector<SavedBuffer> saved;
  if (consumer.storage != nullptr) {
    saved = save_buffers(*consumer.storage);
    for (const auto* dit : consumer.dits) {
      consumer.storage->discard(dit->name);
    }
  }
  auto mapped = MappedTensors::open(files, plan, device);
  if (!mapped) {
    return mapped.refusal();
  }
  events.emplace_back("map");
  if (consumer.storage != nullptr) {
    restore_buffers(*consumer.storage, saved);
  }
  if (const auto status = check_materialised(consumer, **mapped); !status) {
    return status.refusal();
  }
  if (const auto status = run_final_steps(consumer.hooks, /*callbacks=*/false,
                                          !plan.post_load_complete(), **mapped, events);
      !status) {
    return status.refusal();
  }
  if (!(*mapped)->intact()) {
    return refuse(codes::kMappingTruncated, "a checkpoint file became shorter while it was read",
                  "plan", "do not write to a checkpoint in use; restore it");
  }
  return mapped;
}

}  // namespace dlo::host_weights
