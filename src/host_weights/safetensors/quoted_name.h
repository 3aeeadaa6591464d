// Owns: text from files as it appears in messages: escaped to printable ASCII and clipped, so that
// hostile bytes neither break a line, nor flood a log, nor make a JSON report impossible.
// Must not own: the text itself. Threading: pure functions, never fail.
#pragma once

#include <string>
#include <string_view>

namespace dlo::host_weights {

// "\"blocks.0.weight\"", at most 200 bytes of the name.
[[nodiscard]] std::string quoted_name(std::string_view name);

// The same without the quotes and with quotes left alone, for a sentence that quotes a file.
[[nodiscard]] std::string printable_text(std::string_view text);

}  // namespace dlo::host_weights
