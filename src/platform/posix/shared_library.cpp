#include "platform/posix/shared_library.h"

#include <dlfcn.h>

#include <utility>

#include "base/codes.h"

namespace dlo::platform {

namespace {

Refusal missing(std::string what, const std::string& name) {
  return refuse(codes::kLibraryMissing, std::move(what), name,
                "install it; what it would tell is left out");
}

}  // namespace

SharedLibrary::SharedLibrary(std::string name, void* handle)
    : name_(std::move(name)),
      handle_(handle, [](void* open) { static_cast<void>(dlclose(open)); }) {}

Result<SharedLibrary> SharedLibrary::load(const std::string& name) {
  return open(name, 0);
}

Result<SharedLibrary> SharedLibrary::find_loaded(const std::string& name) {
  return open(name, RTLD_NOLOAD);
}

Result<SharedLibrary> SharedLibrary::open(const std::string& name, int more_flags) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | more_flags);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return missing(std::string("cannot be loaded: ") + (reason == nullptr ? "no reason" : reason),
                   name);
  }
  return SharedLibrary(name, handle);
}

Result<void*> SharedLibrary::address(const std::string& function) const {
  void* found = dlsym(handle_.get(), function.c_str());
  if (found == nullptr) {
    return missing("has no function " + function, name_);
  }
  return found;
}

}  // namespace dlo::platform
