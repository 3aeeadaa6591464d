// Owns: Descriptor, an open file descriptor, and the refusals of failed file calls.
// Must not own: paths or policy. Threading: a value type.
// Failure: its destructor ignores errors; who wants to know closes the released number.
#pragma once

#include <string>
#include <string_view>

#include "base/refusal.h"
#include "platform/file_system.h"

namespace dlo::platform {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool open() const { return number_ >= 0; }
  // Gives the number away.
  [[nodiscard]] int release();

 private:
  int number_;
};

// open(2) with O_CLOEXEC, continued after signals; `mode` counts with O_CREAT.
[[nodiscard]] Descriptor open_descriptor(const Path& path, int flags, unsigned mode = 0);

// "cannot <verb>: ENOSPC (No space left on device)", where = path. A missing file gets
// file_not_found instead of `code`.
[[nodiscard]] Refusal file_refusal(std::string_view code, std::string_view verb, const Path& path,
                                   int error_number);

}  // namespace dlo::platform
