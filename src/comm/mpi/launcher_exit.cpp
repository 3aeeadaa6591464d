#include "comm/mpi/launcher_exit.h"

#include <dlfcn.h>

#include <cstddef>

namespace dlo::comm {

void take_leave_of_launcher() noexcept {
  // MPI loads the library for itself alone: asked for by name, and only where it is loaded.
  void* const library = ::dlopen("libpmix.so.2", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) {
    return;
  }
  using Finalize = int (*)(const void* info, std::size_t count);
  const auto finalize = reinterpret_cast<Finalize>(::dlsym(library, "PMIx_Finalize"));
  if (finalize != nullptr) {
    static_cast<void>(finalize(nullptr, 0));
  }
}

}  // namespace dlo::comm
