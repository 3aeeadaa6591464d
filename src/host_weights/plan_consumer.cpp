#include "host_weights/plan_consumer.h"

#include <fmt/format.h>

#include <set>
#include <string_view>

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

std::set<std::string_view> tensor_names(const PlanConsumer& consumer) {
  std::set<std::string_view> names;
  for (const auto* dit : consumer.dits) {
    for (const auto& block : dit->blocks) {
      for (const auto& tensor : block.tensors) {
        names.insert(tensor.name);
      }
    }
    for (const auto& tensor : dit->non_block.tensors) {
      names.insert(tensor.name);
    }
  }
  return names;
}

Status refuse_unless_empty(const std::vector<std::string>& names, const char* what) {
  if (names.empty()) {
    return {};
  }
  return refuse(codes::kMissingTensor,
                fmt::format("{} tensors {}: {}", names.size(), what, first_names(names)), "plan",
                "report it: the plan was made for another model");
}

// Every binding has a tensor that it stands for.
Status check_targets(const std::set<std::string_view>& names,
                     const contracts::HostWeightPlan& plan) {
  std::vector<std::string> strays;
  for (const auto& [name, binding] : plan.bindings()) {
    if (!names.contains(name)) {
      strays.push_back(name);
    }
  }
  return refuse_unless_empty(strays, "of the plan are not in the model");
}

Status check_materialised(const std::set<std::string_view>& names, const MappedTensors& tensors) {
  std::vector<std::string> missing;
  for (const auto name : names) {
    if (!tensors.holds(std::string(name))) {
      missing.emplace_back(name);
    }
  }
  return refuse_unless_empty(missing, "have no bytes after the plan was consumed");
}

}  // namespace

Result<std::unique_ptr<MappedTensors>> consume_plan(const platform::FileSystem& files,
                                                    platform::Device& device,
                                                    const contracts::HostWeightPlan& plan,
                                                    const PlanConsumer& consumer,
                                                    std::vector<std::string>& events) {
  const auto names = tensor_names(consumer);
  if (const auto status = check_targets(names, plan); !status) {
    return status.refusal();
  }
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
  // Before the hooks, which may read any tensor, and behind them, for they may let go of some.
  if (const auto status = check_materialised(names, **mapped); !status) {
    return status.refusal();
  }
  if (const auto status = run_final_steps(consumer.hooks, /*callbacks=*/false,
                                          !plan.post_load_complete(), **mapped, events);
      !status) {
    return status.refusal();
  }
  if (const auto status = check_materialised(names, **mapped); !status) {
    return status.refusal();
  }
  if (const auto status = contracts::check_intact(**mapped, "a tensor"); !status) {
    return status.refusal();
  }
  return mapped;
}

}  // namespace dlo::host_weights
