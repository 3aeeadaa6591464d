// Owns: ParameterTable, a model as the loader and the backend see it: components, blocks in ring
// order, tensors with runtime names, and the binding through which each block reads its weights.
// Must not own: weights, torch tensors, or any decision about placement.
// The model builds one at construction; it is immutable afterwards and outlives its users.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/tensor_view.h"
#include "contracts/block_binding.h"
#include "contracts/load_rules.h"

namespace dlo::contracts {

// Reference: 2.3 step 6 of the loader. Computed buffers (RoPE tables) have no source, are not
// streamed and stay on the device.
// Deviates from vLLM-Omni: computed, non-persistent buffers are not part of the streamed block.
enum class TensorKind : std::uint8_t { kParameter, kPersistentBuffer };

struct TensorSpec {
  std::string name;  // runtime name with component prefix: "transformer.blocks.0.norm2.weight"
  TensorKind kind = TensorKind::kParameter;
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<std::int64_t> strides;  // in elements; empty means contiguous

  // Bytes from the first to one past the last element: 1 + sum((size-1)*stride) elements, 0 if
  // empty. Throws LogicError on overflow.
  [[nodiscard]] std::uint64_t span_bytes() const;
};

// One streamable unit, or a component's non-block children taken together.
struct BlockSpec {
  std::string name;                 // "transformer.blocks.3", "transformer (non-block)"
  std::vector<TensorSpec> tensors;  // module order
  BlockBinding* binding = nullptr;  // not owned; never null
};

// One diffusion transformer: a ring of blocks and the children outside it. A non-block child with
// a block list of its own (a token refiner) is a DitSpec behind its parent's: it is streamed when
// it is large or the OffloadPlan names it, else resident as other non-block children. A forward
// walks the children of a DiT, in the table's order, and then the DiT's own ring.
struct DitSpec {
  std::string name;               // component name, "transformer"
  std::vector<BlockSpec> blocks;  // ring order
  BlockSpec non_block;            // always resident on the device; may have no tensors
  LoadRules loading = {};         // for the loader alone
  std::string parent = {};        // of a non-block child: its DiT's name
};

struct ParameterTable {
  std::vector<DitSpec> dits;

  // Every tensor of every DiT, blocks first, in order; the required set of strict coverage.
  [[nodiscard]] std::vector<const TensorSpec*> tensors() const;
};

// Throws LogicError naming the offender when a name repeats, a binding is missing, or a shape
// overflows: a table is checked once, at construction of its model.
void check_table(const ParameterTable& table);

}  // namespace dlo::contracts
