// Owns: small safetensors files as bytes, for tests of this folder: free header text in front of
// data, or tensors with counted values. Must not own: expectations. Header-only, no state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace dlo::host_weights::test {

inline ConstByteSpan as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// Length field, header text as given, data.
inline std::string file_of(std::string_view header, std::string_view data = {}) {
  std::string file;
  for (unsigned i = 0; i < 8; ++i) {
    file += static_cast<char>(static_cast<std::uint64_t>(header.size()) >> (8 * i) & 0xFFU);
  }
  return file.append(header).append(data);
}

// A file of U8 vectors with the given bytes: {{"a", "xyz"}} is tensor a of shape [3].
inline std::string file_of_texts(const std::vector<std::pair<std::string, std::string>>& tensors) {
  std::string header = "{";
  std::string data;
  for (const auto& [name, bytes] : tensors) {
    header += (header.size() > 1 ? ",\"" : "\"") + name + R"(":{"dtype":"U8","shape":[)" +
              std::to_string(bytes.size()) + R"(],"data_offsets":[)" + std::to_string(data.size()) +
              "," + std::to_string(data.size() + bytes.size()) + "]}";
    data += bytes;
  }
  return file_of(header + "}", data);
}

}  // namespace dlo::host_weights::test
