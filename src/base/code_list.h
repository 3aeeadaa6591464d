// Owns: the list of every stable code with its meaning, for README, reports and the test that no
// two codes are spelt alike and none of base/codes.h is missing here.
// Must not own: configuration rules CFG-nn, which carry their own text (config/rules.h).
#pragma once

#include <span>
#include <string_view>

namespace dlo {

struct CodeMeaning {
  std::string_view code;
  std::string_view meaning;  // one sentence, without a full stop
};

// Every constant of base/codes.h once.
[[nodiscard]] std::span<const CodeMeaning> code_list();

}  // namespace dlo
