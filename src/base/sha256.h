// Owns: SHA-256 over byte ranges (OpenSSL) and its lower-case hexadecimal form.
// Must not own: what is hashed and in which order; callers say so.
// Not thread-safe per object. Failure: LogicError when OpenSSL lacks the algorithm.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace dlo {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(ConstByteSpan bytes);
  void update(std::string_view text);
  // Ends the computation; the object must not be updated afterwards.
  [[nodiscard]] std::string hex_digest();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] std::string sha256_hex(ConstByteSpan bytes);
[[nodiscard]] std::string sha256_hex(std::string_view text);

}  // namespace dlo
