#include "host_weights/safetensors/header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <unordered_map>

#include "base/codes.h"
#include "host_weights/safetensors/header_json.h"
#include "host_weights/safetensors/quoted_name.h"
#include "host_weights/safetensors/utf8.h"

namespace dlo::host_weights {

namespace {

struct KindRow {
  HeaderErrorKind kind;
  std::string_view text;
};

constexpr std::array kKinds = {
    KindRow{HeaderErrorKind::kHeaderTooSmall, "header too small"},
    KindRow{HeaderErrorKind::kHeaderTooLarge, "header too large"},
    KindRow{HeaderErrorKind::kInvalidHeaderLength, "invalid header length"},
    KindRow{HeaderErrorKind::kInvalidUtf8, "invalid UTF-8 in header"},
    KindRow{HeaderErrorKind::kInvalidJson, "invalid JSON in header"},
    KindRow{HeaderErrorKind::kInvalidOffset, "invalid offset for tensor"},
    KindRow{HeaderErrorKind::kSizeOverflow,
            "overflow computing buffer size from shape and/or element type"},
    KindRow{HeaderErrorKind::kMisalignedSlice,
            "The slice is slicing for subbytes dtypes, and the slice does not end up at a byte "
            "boundary, this is invalid."},
    KindRow{HeaderErrorKind::kInvalidTensorInfo, "invalid shape, data type, or offset for tensor"},
    KindRow{HeaderErrorKind::kIncompleteBuffer, "incomplete metadata, file not fully covered"},
};

// Builds every refusal of one file.
class Refuser {
 public:
  explicit Refuser(std::string_view where) : where_(where) {}

  Refusal operator()(HeaderErrorKind kind, const std::string& detail) const {
    return refuse(codes::kSafetensorsInvalid,
                  fmt::format("{}: {}", header_error_text(kind), detail), where_,
                  "replace the file: it is damaged, incomplete or not safetensors");
  }

 private:
  std::string where_;
};

std::uint64_t little_endian_length(ConstByteSpan bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kHeaderLengthBytes; ++i) {
    value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  }
  return value;
}

// The JSON text, cut out by the length in front of it.
Result<std::string_view> header_text(ConstByteSpan file, const Refuser& refusal) {
  if (file.size() < kHeaderLengthBytes) {
    return refusal(HeaderErrorKind::kHeaderTooSmall,
                   fmt::format("the file has {} bytes, the length field alone needs {}",
                               file.size(), kHeaderLengthBytes));
  }
  const auto length = little_endian_length(file);
  if (length > kHeaderLimitBytes) {
    return refusal(HeaderErrorKind::kHeaderTooLarge,
                   fmt::format("{} bytes, the limit is {}", length, kHeaderLimitBytes));
  }
  const auto rest = file.size() - kHeaderLengthBytes;
  if (length > rest) {
    return refusal(HeaderErrorKind::kInvalidHeaderLength,
                   fmt::format("the header needs {} bytes, the file has {} behind the length field",
                               length, rest));
  }
  const auto text = file.subspan(kHeaderLengthBytes, length);
  return std::string_view(reinterpret_cast<const char*>(text.data()), text.size());
}

// The last entry of every name counts.
void keep_last_of_each_name(std::vector<HeaderEntry>& entries,
                            std::vector<std::string>& repeated_names) {
  std::unordered_map<std::string_view, std::size_t> last;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    last[entries[i].name] = i;
  }
  if (last.size() == entries.size()) {
    return;
  }
  std::vector<HeaderEntry> kept;
  std::vector<bool> keep(entries.size());
  for (const auto& [name, index] : last) {
    keep[index] = true;
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!keep[i]) {
      repeated_names.push_back(entries[i].name);
    }
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (keep[i]) {
      kept.push_back(std::move(entries[i]));
    }
  }
  entries = std::move(kept);
  std::sort(repeated_names.begin(), repeated_names.end());
  repeated_names.erase(std::unique(repeated_names.begin(), repeated_names.end()),
                       repeated_names.end());
}

// Bytes that dtype and shape ask for, multiplied in the reference's order: a product that overflows
// before it meets a zero extent is an overflow.
Result<std::uint64_t> bytes_of(const HeaderEntry& entry, const Refuser& refusal) {
  const auto overflow = [&] {
    return refusal(
        HeaderErrorKind::kSizeOverflow,
        fmt::format("tensor {} has more bits than 64 bits can count", quoted_name(entry.name)));
  };
  std::uint64_t bits = 1;
  auto factors = entry.shape;
  factors.push_back(dtype_bits(entry.dtype));
  for (const auto factor : factors) {
    const auto product = checked_multiply(bits, factor);
    if (!product) {
      return overflow();
    }
    bits = *product;
  }
  if (bits % 8 != 0) {
    return refusal(HeaderErrorKind::kMisalignedSlice,
                   fmt::format("tensor {} has {} bits", quoted_name(entry.name), bits));
  }
  return bits / 8;
}

// Deviates from vLLM-Omni: an extent above 2^63-1, which only a tensor without elements can have,
// is refused, because no consumer of a shape could hold it.
bool fits_shape(const HeaderEntry& entry) {
  return std::all_of(entry.shape.begin(), entry.shape.end(), [](std::uint64_t extent) {
    return extent <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  });
}

// Checks one tensor that must begin where the one before it ended.
Result<TensorRecord> checked_record(HeaderEntry&& entry, std::uint64_t expected_begin,
                                    const Refuser& refusal) {
  const auto [begin, end] = entry.data_offsets;
  if (begin != expected_begin || end < begin) {
    return refusal(HeaderErrorKind::kInvalidOffset,
                   fmt::format("{} lies at [{}, {}), the tensor before it ends at {}",
                               quoted_name(entry.name), begin, end, expected_begin));
  }
  const auto bytes = bytes_of(entry, refusal);
  if (!bytes) {
    return bytes.refusal();
  }
  if (end - begin != *bytes || !fits_shape(entry)) {
    return refusal(HeaderErrorKind::kInvalidTensorInfo,
                   fmt::format("{} {}[{}] needs {} bytes, its range [{}, {}) has {}",
                               quoted_name(entry.name), dtype_name(entry.dtype),
                               fmt::join(entry.shape, ", "), *bytes, begin, end, end - begin));
  }
  return TensorRecord{std::move(entry.name), entry.dtype,
                      Shape(entry.shape.begin(), entry.shape.end()), begin, end};
}

// Fills header.tensors; the result is the end of the last one.
Result<std::uint64_t> tile(std::vector<HeaderEntry>&& entries, Header& header,
                           const Refuser& refusal) {
  std::sort(entries.begin(), entries.end(), [](const HeaderEntry& a, const HeaderEntry& b) {
    return std::tie(a.data_offsets, a.name) < std::tie(b.data_offsets, b.name);
  });
  std::uint64_t end = 0;
  header.tensors.reserve(entries.size());
  for (auto& entry : entries) {
    auto record = checked_record(std::move(entry), end, refusal);
    if (!record) {
      return record.refusal();
    }
    end = record->end_bytes;
    header.tensors.push_back(std::move(*record));
  }
  return end;
}

}  // namespace

std::string_view header_error_text(HeaderErrorKind kind) {
  for (const auto& row : kKinds) {
    if (row.kind == kind) {
      return row.text;
    }
  }
  throw LogicError("header error kind without a row in the table");
}

std::optional<HeaderErrorKind> header_error_kind(const Refusal& refusal) {
  if (refusal.code != codes::kSafetensorsInvalid) {
    return std::nullopt;
  }
  for (const auto& row : kKinds) {
    if (refusal.what.starts_with(row.text)) {
      return row.kind;
    }
  }
  return std::nullopt;
}

Result<Header> parse_header(ConstByteSpan file_bytes, std::string_view where) {
  const Refuser refusal(where);
  const auto text = header_text(file_bytes, refusal);
  if (!text) {
    return text.refusal();
  }
  if (const auto position = first_invalid_utf8(*text)) {
    return refusal(HeaderErrorKind::kInvalidUtf8, fmt::format("at byte {}", *position));
  }
  auto read = read_header_text(*text);
  if (const auto* reason = std::get_if<std::string>(&read)) {
    return refusal(HeaderErrorKind::kInvalidJson, *reason);
  }
  auto& header_entries = std::get<HeaderText>(read);
  Header header;
  header.metadata = std::move(header_entries.metadata);
  header.data_start_bytes = kHeaderLengthBytes + text->size();
  keep_last_of_each_name(header_entries.entries, header.repeated_names);
  const auto end = tile(std::move(header_entries.entries), header, refusal);
  if (!end) {
    return end.refusal();
  }
  const auto data_bytes = file_bytes.size() - header.data_start_bytes;
  if (*end != data_bytes) {
    return refusal(HeaderErrorKind::kIncompleteBuffer,
                   fmt::format("the tensors need {} bytes, the file has {}", *end, data_bytes));
  }
  return header;
}

}  // namespace dlo::host_weights
