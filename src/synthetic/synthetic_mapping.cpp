#include "synthetic/synthetic_mapping.h"

#include <cstring>
#include <utility>

#include "base/error.h"
#include "synthetic/synthetic_weights.h"

namespace dlo::synthetic {

namespace {

constexpr std::uint64_t kGroups = 3;

// Bytes in front of the tensor, as the header and the neighbours that a real file has.
constexpr std::uint64_t kFileOffsetBytes = 8;

}  // namespace

SyntheticMapping::SyntheticMapping(const contracts::ParameterTable& table, std::uint64_t seed) {
  for (const auto* spec : table.tensors()) {
    files_.emplace(spec->name, make_file(*spec, seed));
  }
}

SyntheticMapping::File SyntheticMapping::make_file(const contracts::TensorSpec& spec,
                                                   std::uint64_t seed) {
  const auto content = tensor_content(seed, spec);
  File file{spec.dtype, spec.shape, std::vector<std::byte>(kFileOffsetBytes + content.size()), {}};
  const auto rows = spec.shape.size() > 1 ? static_cast<std::uint64_t>(spec.shape.front()) : 1;
  const std::uint64_t groups = rows > 0 && rows % kGroups == 0 ? kGroups : 1;
  const auto bytes = content.size() / groups;
  for (std::uint64_t group = 0; group < groups && bytes > 0; ++group) {
    // The last group comes first.
    const auto at = kFileOffsetBytes + (groups - 1 - group) * bytes;
    std::memcpy(file.bytes.data() + at, content.data() + group * bytes, bytes);
    file.pieces.push_back({group * bytes, at, bytes});
  }
  return file;
}

const SyntheticMapping::File& SyntheticMapping::file_of(const std::string& name) const {
  const auto found = files_.find(name);
  require(found != files_.end(), "tensor '" + name + "' was never mapped or already released");
  return found->second;
}

TensorView SyntheticMapping::view(const std::string& name) const {
  const auto& file = file_of(name);
  auto& copy = copies_[name];
  copy.resize(file.bytes.size() - kFileOffsetBytes);
  for (const auto& piece : file.pieces) {
    std::memcpy(copy.data() + piece.tensor_offset_bytes,
                file.bytes.data() + piece.file_offset_bytes, piece.bytes);
  }
  return TensorView{file.dtype, file.shape, copy};
}

void SyntheticMapping::for_each_run(const std::string& name, const contracts::RunSink& sink) const {
  const auto& file = file_of(name);
  for (const auto& piece : file.pieces) {
    sink(piece.tensor_offset_bytes,
         ConstByteSpan(file.bytes).subspan(piece.file_offset_bytes, piece.bytes));
  }
}

void SyntheticMapping::release(const std::string& name) {
  files_.erase(name);
  copies_.erase(name);
}

std::uint64_t SyntheticMapping::held_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [name, copy] : copies_) {
    bytes += copy.size();
  }
  return bytes;
}

}  // namespace dlo::synthetic
