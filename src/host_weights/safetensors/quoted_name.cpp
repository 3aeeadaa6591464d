#include "host_weights/safetensors/quoted_name.h"

#include <fmt/format.h>

#include "base/json.h"

namespace dlo::host_weights {

namespace {
constexpr std::size_t kLongestTextBytes = 200;
}

std::string quoted_name(std::string_view name) {
  const bool clipped = name.size() > kLongestTextBytes;
  const nlohmann::json text(std::string(name.substr(0, kLongestTextBytes)));
  return text.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) +
         (clipped ? "..." : "");
}

std::string printable_text(std::string_view text) {
  std::string printable;
  for (const char character : text.substr(0, kLongestTextBytes)) {
    const bool plain = character >= ' ' && character <= '~';
    printable += plain ? std::string(1, character)
                       : fmt::format("\\x{:02x}", static_cast<unsigned char>(character));
  }
  return printable + (text.size() > kLongestTextBytes ? "..." : "");
}

}  // namespace dlo::host_weights
