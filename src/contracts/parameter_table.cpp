#include "contracts/parameter_table.h"

#include <set>

#include "base/error.h"

namespace dlo::contracts {

namespace {

void append_tensors(const BlockSpec& block, std::vector<const TensorSpec*>& out) {
  for (const auto& tensor : block.tensors) {
    out.push_back(&tensor);
  }
}

void check_block(const BlockSpec& block, std::set<std::string>& names) {
  require(block.binding != nullptr || block.tensors.empty(),
          "block '" + block.name + "' has no binding");
  for (const auto& tensor : block.tensors) {
    require(names.insert(tensor.name).second, "tensor '" + tensor.name + "' appears twice");
    static_cast<void>(tensor.span_bytes());
  }
}

}  // namespace

std::uint64_t TensorSpec::span_bytes() const {
  const auto contiguous = tensor_bytes(shape, dtype);
  require(contiguous.has_value(), "tensor '" + name + "' has an impossible shape");
  if (strides.empty() || *contiguous == 0) {
    return *contiguous;
  }
  require(strides.size() == shape.size(), "tensor '" + name + "' has strides of another rank");
  std::uint64_t last_element = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    require(strides[d] >= 0, "tensor '" + name + "' has a negative stride");
    const auto step = checked_multiply(static_cast<std::uint64_t>(shape[d] - 1),
                                       static_cast<std::uint64_t>(strides[d]));
    const auto sum = step ? checked_add(last_element, *step) : std::nullopt;
    require(sum.has_value(), "tensor '" + name + "' has strides that overflow");
    last_element = *sum;
  }
  const auto bits = checked_multiply(last_element + 1, dtype_bits(dtype));
  require(bits.has_value(), "tensor '" + name + "' has strides that overflow");
  return ceil_divide(*bits, 8);
}

std::vector<const TensorSpec*> ParameterTable::tensors() const {
  std::vector<const TensorSpec*> all;
  for (const auto& dit : dits) {
    for (const auto& block : dit.blocks) {
      append_tensors(block, all);
    }
    append_tensors(dit.non_block, all);
  }
  return all;
}

void check_table(const ParameterTable& table) {
  std::set<std::string> names;
  for (const auto& dit : table.dits) {
    for (const auto& block : dit.blocks) {
      check_block(block, names);
    }
    check_block(dit.non_block, names);
  }
}

}  // namespace dlo::contracts
