#include "model/torch_views.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include "base/error.h"

namespace dlo::model {

namespace {

at::Tensor view_at(const contracts::TensorSpec& spec, std::byte* data) {
  const auto options = at::TensorOptions().dtype(scalar_type(spec.dtype)).device(at::kCPU);
  if (spec.span_bytes() == 0) {
    return at::empty(spec.shape, options);
  }
  return spec.strides.empty() ? at::from_blob(data, spec.shape, options)
                              : at::from_blob(data, spec.shape, spec.strides, options);
}

}  // namespace

at::ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return at::kFloat;
    case DType::kBF16:
      return at::kBFloat16;
    default:
      throw LogicError(
          fmt::format("no model of this product has tensors of dtype {}", dtype_name(dtype)));
  }
}

at::Tensor as_torch(const DeviceTensor& tensor) {
  const auto bytes = tensor_bytes(tensor.shape, tensor.dtype);
  require(bytes && tensor.span.bytes >= *bytes,
          fmt::format("a device tensor of shape {} has only {} bytes", shape_text(tensor.shape),
                      tensor.span.bytes));
  const auto options = at::TensorOptions().dtype(scalar_type(tensor.dtype)).device(at::kCPU);
  return at::from_blob(tensor.span.data, tensor.shape, options);
}

BlockViews make_views(const contracts::BlockSpec& block, DeviceSpan span,
                      const contracts::BlockLayout& layout) {
  require(span.bytes >= layout.bytes(), fmt::format("a place of '{}' has {} bytes, its layout {}",
                                                    block.name, span.bytes, layout.bytes()));
  require(layout.entries().size() == block.tensors.size(),
          fmt::format("the layout of '{}' is of another block", block.name));
  const auto address = reinterpret_cast<std::uintptr_t>(span.data);
  require(address % kTensorAlignmentBytes == 0,
          fmt::format("a place of '{}' is not 256-byte aligned", block.name));
  BlockViews views;
  views.tensors.resize(block.tensors.size());
  for (const auto& entry : layout.entries()) {
    views.tensors[entry.tensor_index] =
        view_at(block.tensors[entry.tensor_index], span.data + entry.offset_bytes);
  }
  return views;
}

}  // namespace dlo::model
