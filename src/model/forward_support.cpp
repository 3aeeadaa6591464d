#include "model/forward_support.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/codes.h"
#include "base/error.h"

namespace dlo::model {

namespace {

constexpr const char* kOperands = "operands of a forward";
constexpr const char* kSizeThem = "size the operands by DitModel::geometry()";

}  // namespace

void check_operand(std::string_view name, const DeviceTensor& tensor, const Shape& wanted) {
  const auto bytes = tensor_bytes(wanted, DType::kF32);
  if (tensor.dtype == DType::kF32 && tensor.shape == wanted && bytes &&
      tensor.span.bytes >= *bytes) {
    return;
  }
  throw RunError(refuse(codes::kShapeMismatch,
                        fmt::format("'{}' is {} {} in {} bytes, the model wants F32 {}", name,
                                    dtype_name(tensor.dtype), shape_text(tensor.shape),
                                    tensor.span.bytes, shape_text(wanted)),
                        kOperands, kSizeThem));
}

void check_rank(std::string_view name, const DeviceTensor& tensor, std::size_t rank) {
  const auto& shape = tensor.shape;
  if (shape.size() == rank &&
      std::all_of(shape.begin(), shape.end(), [](auto extent) { return extent >= 1; })) {
    return;
  }
  throw RunError(refuse(
      codes::kShapeMismatch,
      fmt::format("'{}' is {}, the model wants {} dimensions", name, shape_text(shape), rank),
      kOperands, kSizeThem));
}

LinearWeights pair_at(const BlockViews& views, std::size_t index) {
  return LinearWeights{views.tensors[index], views.tensors[index + 1]};
}

at::Tensor split_heads(const at::Tensor& rows, std::int64_t heads) {
  return rows.unflatten(-1, {heads, -1});
}

at::Tensor gelu_feed_forward(WeightCursor& weights, const at::Tensor& input) {
  const at::Tensor inner = gelu_tanh(linear(input, weights.linear()));
  return linear(inner, weights.linear());
}

Qkv project_qkv(WeightCursor& weights, const at::Tensor& input, bool fused) {
  if (fused) {
    const std::vector<at::Tensor> parts = linear(input, weights.linear()).chunk(3, -1);
    return {parts[0], parts[1], parts[2]};
  }
  // In table order, whatever order a compiler evaluates arguments in.
  Qkv out;
  out.query = linear(input, weights.linear());
  out.key = linear(input, weights.linear());
  out.value = linear(input, weights.linear());
  return out;
}

}  // namespace dlo::model
