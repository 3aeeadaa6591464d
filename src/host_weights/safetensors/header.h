// Owns: the header of a safetensors file: tensor records, metadata, and the verdict on them.
// Must not own: files or mappings (reader.h), several files (checkpoint_index.h).
// The verdict equals the reference library's (safetensors 0.8.0, Rust): what it accepts is accepted
// and a refusal names the same kind of error. Nothing is allocated from a length that was not
// checked against the bytes at hand. Threading: pure functions on plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/tensor_view.h"

namespace dlo::host_weights {

// Bytes of the little-endian length in front of the JSON text.
inline constexpr std::uint64_t kHeaderLengthBytes = 8;
// Longest JSON text that is read, as in the reference library.
inline constexpr std::uint64_t kHeaderLimitBytes = 100'000'000;

// The one name of a header that is no tensor.
inline constexpr std::string_view kMetadataKey = "__metadata__";

// Why a header was refused. The refusal's code is safetensors_invalid for all of them; its `what`
// begins with header_error_text(kind), which is the reference library's wording.
enum class HeaderErrorKind : std::uint8_t {
  kHeaderTooSmall,
  kHeaderTooLarge,
  kInvalidHeaderLength,
  kInvalidUtf8,
  kInvalidJson,
  kInvalidOffset,
  kSizeOverflow,
  kMisalignedSlice,
  kInvalidTensorInfo,
  kIncompleteBuffer,
};

[[nodiscard]] std::string_view header_error_text(HeaderErrorKind kind);

// The kind of a refusal that parse_header made; empty for any other refusal.
[[nodiscard]] std::optional<HeaderErrorKind> header_error_kind(const Refusal& refusal);

// One tensor of a file. Offsets count from the start of the data, behind the header.
struct TensorRecord {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  std::uint64_t begin_bytes = 0;
  std::uint64_t end_bytes = 0;

  [[nodiscard]] std::uint64_t size_bytes() const { return end_bytes - begin_bytes; }
  friend bool operator==(const TensorRecord&, const TensorRecord&) = default;
};

// The `__metadata__` of a file: free text by key.
using FileMetadata = std::map<std::string, std::string>;

struct Header {
  std::vector<TensorRecord> tensors;     // by (begin, end, name); they tile the data exactly
  std::optional<FileMetadata> metadata;  // empty when absent or null
  std::uint64_t data_start_bytes = 0;    // from the start of the file
  // Names that occur more than once, sorted. The last entry counts, as in the reference; whoever
  // needs a stricter file (preflight, cache) refuses it by this list.
  std::vector<std::string> repeated_names;
};

// Reads and checks the header of a whole file given as bytes: every tensor of the result lies
// inside `file_bytes`, and its shape, dtype and range agree. `where` names the file in refusals.
[[nodiscard]] Result<Header> parse_header(ConstByteSpan file_bytes, std::string_view where);

}  // namespace dlo::host_weights
