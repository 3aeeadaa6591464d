#include "host_weights/safetensors/quoted_name.h"

#include <nlohmann/json.hpp>

namespace dlo::host_weights {

namespace {
constexpr std::size_t kLongestNameBytes = 200;
}

std::string quoted_name(std::string_view name) {
  const bool clipped = name.size() > kLongestNameBytes;
  const nlohmann::json text(std::string(name.substr(0, kLongestNameBytes)));
  return text.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) +
         (clipped ? "..." : "");
}

}  // namespace dlo::host_weights
