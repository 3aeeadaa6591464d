#include "host_weights/safetensors/utf8.h"

#include <cstdint>

namespace dlo::host_weights {

namespace {

// What may follow a first byte: how many bytes, and the range of the first of them (the others lie
// in 80..BF). Table 3-7 of the Unicode standard.
struct Sequence {
  std::size_t following = 0;
  std::uint8_t low = 0x80;
  std::uint8_t high = 0xBF;
};

std::optional<Sequence> sequence_of(std::uint8_t lead) {
  if (lead < 0x80) {
    return Sequence{0};
  }
  if (lead >= 0xC2 && lead <= 0xDF) {
    return Sequence{1};
  }
  if (lead >= 0xE0 && lead <= 0xEF) {
    const auto low = static_cast<std::uint8_t>(lead == 0xE0 ? 0xA0 : 0x80);
    const auto high = static_cast<std::uint8_t>(lead == 0xED ? 0x9F : 0xBF);
    return Sequence{2, low, high};
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const auto low = static_cast<std::uint8_t>(lead == 0xF0 ? 0x90 : 0x80);
    const auto high = static_cast<std::uint8_t>(lead == 0xF4 ? 0x8F : 0xBF);
    return Sequence{3, low, high};
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> first_invalid_utf8(std::string_view text) {
  std::size_t position = 0;
  while (position < text.size()) {
    const auto sequence = sequence_of(static_cast<std::uint8_t>(text[position]));
    if (!sequence || sequence->following >= text.size() - position) {
      return position;
    }
    for (std::size_t i = 1; i <= sequence->following; ++i) {
      const auto byte = static_cast<std::uint8_t>(text[position + i]);
      const bool valid =
          i == 1 ? byte >= sequence->low && byte <= sequence->high : (byte & 0xC0U) == 0x80U;
      if (!valid) {
        return position;
      }
    }
    position += sequence->following + 1;
  }
  return std::nullopt;
}

}  // namespace dlo::host_weights
