// Owns: BackendFixture: one rank of the backend over a synthetic model on a RecordingDevice, with a
// control group whose other members answer as the test says.
// Must not own: expectations.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/offload_backend.h"
#include "base/codes.h"
#include "synthetic/synthetic_model.h"
#include "synthetic/synthetic_weights.h"
#include "tests/unit/hot_path/recording_device.h"

namespace dlo::test {

// A group of two seen from rank 0; rank 1 answers answer(operation, mine).
class ScriptedGroup final : public comm::ControlGroup {
 public:
  using Answer = std::function<Result<std::string>(std::string_view, std::string_view)>;

  explicit ScriptedGroup(Answer answer) : answer_(std::move(answer)) {}

  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 2; }
  [[nodiscard]] Result<std::vector<std::string>> exchange(std::string_view operation,
                                                          std::string_view mine,
                                                          Deadline) override {
    operations.emplace_back(operation);
    auto theirs = answer_(operation, mine);
    if (!theirs.ok()) {
      return theirs.refusal();
    }
    return std::vector<std::string>{std::string(mine), *theirs};
  }

  std::vector<std::string> operations;

 private:
  Answer answer_;
};

// Rank 1 says what rank 0 says.
inline Result<std::string> same_answer(std::string_view, std::string_view mine) {
  return std::string(mine);
}

inline config::OffloadConfig rank_local_config() {
  config::OffloadConfig config;
  config.strategy = config::OffloadStrategy::kDistributedLayerwise;
  config.dlo_use_allgather = false;
  return config;
}

inline config::OffloadConfig all_gather_config() {
  auto config = rank_local_config();
  config.dlo_use_allgather = true;
  config.dp_size = 2;
  return config;
}

class BackendFixture {
 public:
  explicit BackendFixture(const config::OffloadConfig& asked,
                          ScriptedGroup::Answer answer = same_answer,
                          const synthetic::SyntheticShape& shape = synthetic::draw_shape(9, {3, 4}))
      : config(asked),
        model(shape),
        tensors(model.table(), model.seed()),
        context(make_rank_context(0, 1, *signal)),
        group(std::move(answer)) {
    const bool gathers = config.dlo_use_allgather && config.dp_size > 1;
    backend = std::make_unique<backend::OffloadBackend>(backend::BackendRequest{
        .config = config,
        .table = model.table(),
        .host_tensors = tensors,
        .device = device,
        .context = context,
        .weight_control = gathers ? &group : nullptr,
        .weight_communicator = gathers ? &communicator : nullptr,
        .weight_axis = gathers ? backend::GroupAxis::kData : backend::GroupAxis::kNone});
  }

  [[nodiscard]] std::uint64_t bytes_in_use() const {
    return device.device_memory().now_bytes + device.pinned_memory().now_bytes +
           device.pageable_memory().now_bytes;
  }

  config::OffloadConfig config;
  RecordingDevice device;
  synthetic::SyntheticModel model;
  synthetic::SyntheticTensors tensors;
  std::unique_ptr<FailureSignal> signal = make_local_failure_signal();
  RankContext context;
  ScriptedGroup group;
  RecordingCommunicator communicator{0, 2};
  std::unique_ptr<backend::OffloadBackend> backend;
};

}  // namespace dlo::test
