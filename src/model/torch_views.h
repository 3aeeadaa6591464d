// Owns: the torch side of device memory: views of spans, and the set of views of one block at one
// place. The one spot where a span becomes a torch tensor.
// Must not own: bytes; a view never outlives the memory that it aliases.
// Threading: BlockViews are immutable once built and may be read from any thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "contracts/block_layout.h"
#include "contracts/parameter_table.h"
#include "model/compute_device.h"
#include "model/device_tensor.h"

namespace dlo::model {

struct BlockViews {
  std::vector<at::Tensor> tensors;  // in the order of BlockSpec::tensors
};

// The torch name of `dtype`. Throws LogicError for a dtype that no model of this product stores.
[[nodiscard]] at::ScalarType scalar_type(DType dtype);

[[nodiscard]] at::Device torch_device(ComputeDevice device);

// A view of a contiguous tensor in the memory of `device`. Throws LogicError when the span is too
// short.
[[nodiscard]] at::Tensor as_torch(const DeviceTensor& tensor, ComputeDevice device);

// Views of every tensor of `block` in a buffer of `device` laid out as `layout`. Throws LogicError
// when `span` is shorter than the layout, or not aligned as the layout promises.
[[nodiscard]] BlockViews make_views(const contracts::BlockSpec& block, DeviceSpan span,
                                    const contracts::BlockLayout& layout, ComputeDevice device);

}  // namespace dlo::model
