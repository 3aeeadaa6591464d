#include "host_weights/private_tensors.h"

#include <utility>

#include "base/codes.h"
#include "base/error.h"
#include "host_weights/dtype_conversion.h"

namespace dlo::host_weights {

Result<ByteSpan> PrivateTensors::reserve(const std::string& name, DType dtype, const Shape& shape) {
  require(!holds(name), "PrivateTensors: '" + name + "' is held already");
  const auto bytes = tensor_bytes(shape, dtype);
  require(bytes.has_value(), "PrivateTensors: the size of '" + name + "' overflows");
  auto buffer = device_->allocate_pageable(*bytes, platform::MemoryPurpose::kOther);
  if (!buffer) {
    Refusal refusal = buffer.refusal();
    refusal.where = "tensor '" + name + "'";
    return refusal;
  }
  const ByteSpan span = (*buffer)->span();
  tensors_.emplace(name, Tensor{dtype, shape, std::move(*buffer)});
  held_bytes_ += *bytes;
  return span;
}

bool PrivateTensors::holds(const std::string& name) const {
  return tensors_.contains(name);
}

const PrivateTensors::Tensor& PrivateTensors::held(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {  // the text is made only here
    throw LogicError("PrivateTensors: '" + name + "' was never loaded or was released");
  }
  return found->second;
}

TensorView PrivateTensors::view(const std::string& name) const {
  const Tensor& tensor = held(name);
  return TensorView{tensor.dtype, tensor.shape, tensor.buffer->span()};
}

Result<ByteSpan> PrivateTensors::edit(const std::string& name) {
  return held(name).buffer->span();
}

Status PrivateTensors::recast(const std::string& name, DType dtype) {
  const TensorView old = view(name);
  if (old.dtype == dtype) {
    return {};
  }
  if (!can_convert(old.dtype, dtype)) {
    return refuse(
        codes::kDtypeMismatch,
        std::string(dtype_name(old.dtype)) + " cannot be made " + std::string(dtype_name(dtype)),
        "tensor '" + name + "'", "cast between floating types only");
  }
  const std::string making = name + " (cast)";
  const auto memory = reserve(making, dtype, old.shape);
  if (!memory) {
    return memory.refusal();
  }
  convert_elements(old.bytes, old.dtype, *memory, dtype, element_count(old.shape).value());
  release(name);
  auto made = tensors_.extract(making);
  made.key() = name;
  tensors_.insert(std::move(made));
  return {};
}

void PrivateTensors::release(const std::string& name) {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) {
    held_bytes_ -= found->second.buffer->span().size();
    tensors_.erase(found);
  }
}

}  // namespace dlo::host_weights
