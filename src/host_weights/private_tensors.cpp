#include "host_weights/private_tensors.h"

#include <utility>

#include "base/codes.h"
#include "base/error.h"

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

TensorView PrivateTensors::view(const std::string& name) const {
  const auto found = tensors_.find(name);
  require(found != tensors_.end(),
          "PrivateTensors: '" + name + "' was never loaded or was released");
  return TensorView{found->second.dtype, found->second.shape, found->second.buffer->span()};
}

void PrivateTensors::release(const std::string& name) {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) {
    held_bytes_ -= found->second.buffer->span().size();
    tensors_.erase(found);
  }
}

}  // namespace dlo::host_weights
