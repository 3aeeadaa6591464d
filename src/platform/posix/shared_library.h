// Owns: SharedLibrary, a library loaded at run time: what a program uses where it is there and
// starts without.
// Must not own: the types of its functions (the caller knows them).
// Threading: any thread. The library stays loaded until the object goes; its functions go with it.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace dlo::platform {

class SharedLibrary {
 public:
  // `name` is a file name for the loader's search path, or a path. Codes: library_missing, with the
  // loader's reason.
  [[nodiscard]] static Result<SharedLibrary> load(const std::string& name);

  // The same of a library that the process has loaded already; nothing is loaded.
  [[nodiscard]] static Result<SharedLibrary> find_loaded(const std::string& name);

  // The address of a function; library_missing, naming it, when the library has none such.
  [[nodiscard]] Result<void*> address(const std::string& function) const;

 private:
  SharedLibrary(std::string name, void* handle);

  [[nodiscard]] static Result<SharedLibrary> open(const std::string& name, int more_flags);

  std::string name_;
  std::shared_ptr<void> handle_;
};

}  // namespace dlo::platform
