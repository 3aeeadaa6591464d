// Owns: SyntheticModel, a model that computes nothing: each of its blocks compares every byte that
// it is given with what the seed says, and folds the bytes into a digest. It walks its rings and
// calls a BlockObserver as a real block sequence does.
// Must not own: placement, transfers, host tensors.
// Threading: run() on the launching thread; findings and digest are written by compute and may be
// read once the device is synchronised. Failure: wrong bytes are findings, never exceptions, so
// that a run goes on and shows how far the damage reaches; a block at its placeholder throws.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "contracts/block_observer.h"
#include "contracts/offload_plan.h"
#include "contracts/parameter_table.h"
#include "platform/device.h"
#include "synthetic/synthetic_binding.h"
#include "synthetic/synthetic_shape.h"

namespace dlo::synthetic {

struct Findings {
  std::uint64_t computed_blocks = 0;
  std::uint64_t wrong_tensors = 0;
  std::string first;  // which tensor of which block was wrong first

  [[nodiscard]] bool clean() const { return wrong_tensors == 0; }
};

class SyntheticModel {
 public:
  explicit SyntheticModel(const SyntheticShape& shape);
  SyntheticModel(const SyntheticModel&) = delete;
  SyntheticModel& operator=(const SyntheticModel&) = delete;

  [[nodiscard]] const contracts::ParameterTable& table() const { return table_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  // Every ring may keep leading blocks, children are streamed whatever their size.
  [[nodiscard]] contracts::OffloadPlan offload_plan() const;
  [[nodiscard]] const SyntheticBinding& binding(std::size_t ring, std::size_t block) const;
  // True when every block, non-block children included, is at its placeholder without places.
  [[nodiscard]] bool untouched() const;

  // One forward of ring `ring`: its non-block children, then its blocks in ring order. `observer`
  // may be null (resident). Allocates nothing.
  void run(platform::Device& device, std::size_t ring, contracts::BlockObserver* observer);
  // The same with the blocks of `order` in its order: some left out, some twice.
  void run_order(platform::Device& device, std::size_t ring, contracts::BlockObserver* observer,
                 std::span<const std::uint32_t> order);

  // After Device::synchronize().
  [[nodiscard]] const Findings& findings() const { return findings_; }
  [[nodiscard]] std::uint64_t digest() const { return digest_; }

 private:
  struct Block {
    const contracts::BlockSpec* spec = nullptr;
    std::unique_ptr<SyntheticBinding> binding;
    std::vector<std::vector<std::byte>> expected;  // by tensor, contiguous
  };
  struct Ring {
    std::vector<Block> blocks;
    Block non_block;
    std::vector<std::uint32_t> whole_order;
  };

  void launch(platform::Device& device, const Block& block, const platform::OpLabel& label);
  void compute(const Block& block, const BoundPlace& place);

  std::uint64_t seed_;
  contracts::ParameterTable table_;
  std::vector<Ring> rings_;
  Findings findings_;
  std::uint64_t digest_ = 0;
};

}  // namespace dlo::synthetic
