#include "base/refusal.h"

namespace dlo {

std::string Refusal::message() const {
  std::string line = what + " [" + code + "]";
  if (!where.empty()) {
    line += " (" + where + ")";
  }
  if (!action.empty()) {
    line += "; " + action;
  }
  return line;
}

Refusal refuse(std::string_view code, std::string what, std::string where, std::string action) {
  return Refusal{std::string(code), std::move(what), std::move(where), std::move(action)};
}

}  // namespace dlo
