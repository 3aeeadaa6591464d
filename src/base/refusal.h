// Owns: Refusal, the value of an expected "no": a stable code and the three sentences a reader
// needs. Must not own: control flow. A Refusal travels inside Result<T>; an unexpected or
// programmer error is an exception of base/error.h instead.
#pragma once

#include <string>
#include <string_view>

namespace dlo {

// Why something was refused, downgraded or failed in a foreseen way.
struct Refusal {
  std::string code;    // stable, from base/codes.h or a rule code such as CFG-04
  std::string what;    // what is wrong, with the offending values
  std::string where;   // file, tensor, option, rank or operation that it concerns
  std::string action;  // what the user can do about it

  // One line for people: "what [code] (where); action".
  [[nodiscard]] std::string message() const;

  friend bool operator==(const Refusal&, const Refusal&) = default;
};

// Shorthand that keeps call sites on one line.
[[nodiscard]] Refusal refuse(std::string_view code, std::string what, std::string where,
                             std::string action);

}  // namespace dlo
