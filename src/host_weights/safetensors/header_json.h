// Owns: the JSON text of a safetensors header as typed entries, by the rules of the reference's
// serde types: which fields, which JSON types, which repetitions, how deep.
// Must not own: what the numbers mean (header.h), UTF-8 validity (utf8.h; checked before).
// Threading: pure function. Failure: the reason and the place in the text, as a sentence.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "host_weights/safetensors/header.h"

namespace dlo::host_weights {

struct HeaderEntry {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::uint64_t> shape;
  std::array<std::uint64_t, 2> data_offsets{};
};

struct HeaderText {
  std::vector<HeaderEntry> entries;  // in the order of the text, repeated names included
  std::optional<FileMetadata> metadata;
};

// Either the entries or why the text was refused. Precondition: `text` is valid UTF-8.
[[nodiscard]] std::variant<HeaderText, std::string> read_header_text(std::string_view text);

}  // namespace dlo::host_weights
