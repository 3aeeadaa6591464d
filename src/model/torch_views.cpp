#include "model/torch_views.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <vector>

#include "base/error.h"

namespace dlo::model {

namespace {

// The device is named, so that torch does not ask the driver for each address.
at::Tensor view_at(void* data, const Shape& shape, const std::vector<std::int64_t>& strides,
                   const at::TensorOptions& options) {
  auto maker = at::for_blob(data, shape);
  if (!strides.empty()) {
    maker.strides(strides);
  }
  return maker.target_device(options.device()).options(options).make_tensor();
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

at::Device torch_device(ComputeDevice device) {
  return device.is_cuda() ? at::Device(at::kCUDA, static_cast<at::DeviceIndex>(device.cuda_ordinal))
                          : at::Device(at::kCPU);
}

at::Tensor as_torch(const DeviceTensor& tensor, ComputeDevice device) {
  const auto bytes = tensor_bytes(tensor.shape, tensor.dtype);
  require(bytes && tensor.span.bytes >= *bytes,
          fmt::format("a device tensor of shape {} has only {} bytes", shape_text(tensor.shape),
                      tensor.span.bytes));
  return view_at(tensor.span.data, tensor.shape, {},
                 at::device(torch_device(device)).dtype(scalar_type(tensor.dtype)));
}

BlockViews make_views(const contracts::BlockSpec& block, DeviceSpan span,
                      const contracts::BlockLayout& layout, ComputeDevice device) {
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
    const contracts::TensorSpec& spec = block.tensors[entry.tensor_index];
    const auto options = at::device(torch_device(device)).dtype(scalar_type(spec.dtype));
    views.tensors[entry.tensor_index] =
        spec.span_bytes() == 0
            ? at::empty(spec.shape, options)
            : view_at(span.data + entry.offset_bytes, spec.shape, spec.strides, options);
  }
  return views;
}

}  // namespace dlo::model
