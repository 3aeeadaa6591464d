#include "synthetic/synthetic_weights.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/value_generator.h"

namespace dlo::synthetic {

std::vector<std::byte> tensor_content(std::uint64_t seed, const contracts::TensorSpec& spec) {
  const auto size = tensor_bytes(spec.shape, spec.dtype);
  require(size.has_value(), "synthetic tensor with an impossible shape");
  std::vector<std::byte> bytes(*size);
  const ValueGenerator generator(spec.name, seed);
  for (std::uint64_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    const auto word = generator.bits(at);
    std::memcpy(bytes.data() + at, &word, std::min(sizeof(word), bytes.size() - at));
  }
  return bytes;
}

SyntheticTensors::SyntheticTensors(const contracts::ParameterTable& table, std::uint64_t seed) {
  for (const auto* spec : table.tensors()) {
    auto bytes = tensor_content(seed, *spec);
    held_bytes_ += bytes.size();
    tensors_.emplace(spec->name, Tensor{spec->dtype, spec->shape, std::move(bytes)});
  }
}

TensorView SyntheticTensors::view(const std::string& name) const {
  const auto found = tensors_.find(name);
  require(found != tensors_.end(), "tensor '" + name + "' was never loaded or already released");
  return TensorView{found->second.dtype, found->second.shape, found->second.bytes};
}

void SyntheticTensors::release(const std::string& name) {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) {
    held_bytes_ -= found->second.bytes.size();
    tensors_.erase(found);
  }
}

}  // namespace dlo::synthetic
