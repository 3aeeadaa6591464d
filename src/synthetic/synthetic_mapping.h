// Owns: SyntheticMapping, the loader's side of a synthetic model whose tensors "lie in mapped
// files": a double of host_weights' mapped tensors. Tensors with rows are stored in groups whose
// order in the file is another than the tensor's (as a grouped QKV), so that they have several
// runs. Must not own: the expectation (synthetic_model.h draws the same bytes on its own). A file
// is one allocation a tensor and freed for real when it is released, so that a run kept too long is
// found by ASan. Threading: as HostTensors; truncate() from any thread.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "contracts/host_tensors.h"
#include "contracts/parameter_table.h"

namespace dlo::synthetic {

class SyntheticMapping final : public contracts::HostTensors {
 public:
  SyntheticMapping(const contracts::ParameterTable& table, std::uint64_t seed);

  [[nodiscard]] contracts::Backing backing() const override {
    return contracts::Backing::kCheckpointMmap;
  }
  // A private copy, made on the spot and counted until it is released.
  [[nodiscard]] TensorView view(const std::string& name) const override;
  void for_each_run(const std::string& name, const contracts::RunSink& sink) const override;
  [[nodiscard]] bool intact() const noexcept override { return !truncated_.load(); }
  void release(const std::string& name) override;
  [[nodiscard]] std::uint64_t held_bytes() const override;

  // From now on reads meet pages that are gone.
  void truncate() { truncated_.store(true); }
  // Tensors that were not released: the files are still mapped.
  [[nodiscard]] std::size_t mapped_count() const { return files_.size(); }

 private:
  struct Piece {
    std::uint64_t tensor_offset_bytes = 0;
    std::uint64_t file_offset_bytes = 0;
    std::uint64_t bytes = 0;
  };
  struct File {
    DType dtype = DType::kU8;
    Shape shape;
    std::vector<std::byte> bytes;
    std::vector<Piece> pieces;  // in the tensor's order
  };

  [[nodiscard]] static File make_file(const contracts::TensorSpec& spec, std::uint64_t seed);
  [[nodiscard]] const File& file_of(const std::string& name) const;

  std::map<std::string, File> files_;
  mutable std::map<std::string, std::vector<std::byte>> copies_;
  std::atomic<bool> truncated_{false};
};

}  // namespace dlo::synthetic
