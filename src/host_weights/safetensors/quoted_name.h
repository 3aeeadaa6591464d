// Owns: names from files as they appear in messages: quoted, escaped to printable ASCII, clipped,
// so that a hostile name neither breaks a line nor floods a log.
// Must not own: the names themselves. Threading: pure function, never fails.
#pragma once

#include <string>
#include <string_view>

namespace dlo::host_weights {

// "\"blocks.0.weight\"", at most 200 bytes of the name.
[[nodiscard]] std::string quoted_name(std::string_view name);

}  // namespace dlo::host_weights
