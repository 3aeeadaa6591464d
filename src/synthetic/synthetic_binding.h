// Owns: SyntheticBinding, the BlockBinding of a synthetic block: its places and the current one.
// Must not own: bytes. Threading: launching thread. Failure: reading the placeholder throws
// RunError placeholder_read.
#pragma once

#include <string>
#include <vector>

#include "contracts/block_binding.h"
#include "contracts/block_layout.h"

namespace dlo::synthetic {

// Where a launched compute finds its block.
struct BoundPlace {
  DeviceSpan span;
  const contracts::BlockLayout* layout = nullptr;
};

class SyntheticBinding final : public contracts::BlockBinding {
 public:
  explicit SyntheticBinding(std::string block_name) : block_name_(std::move(block_name)) {}

  void add_place(contracts::PlaceIndex place, DeviceSpan span,
                 const contracts::BlockLayout& layout) override;
  void bind(contracts::PlaceIndex place) noexcept override { current_ = &places_[place]; }
  void bind_placeholder() noexcept override { current_ = nullptr; }
  void forget_places() noexcept override;

  [[nodiscard]] const BoundPlace& current() const;
  [[nodiscard]] bool at_placeholder() const { return current_ == nullptr; }
  [[nodiscard]] std::size_t place_count() const { return places_.size(); }

 private:
  std::string block_name_;
  std::vector<BoundPlace> places_;
  const BoundPlace* current_ = nullptr;  // into places_, which grows only while enabling
};

}  // namespace dlo::synthetic
