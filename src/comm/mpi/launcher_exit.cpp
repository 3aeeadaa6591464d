#include "comm/mpi/launcher_exit.h"

#include <cstddef>

#include "platform/posix/shared_library.h"

namespace dlo::comm {

void take_leave_of_launcher() noexcept {
  // MPI loads the library for itself alone: asked for by name, and only where it is loaded.
  const auto library = platform::SharedLibrary::find_loaded("libpmix.so.2");
  if (!library.ok()) {
    return;
  }
  using Finalize = int (*)(const void* info, std::size_t count);
  if (const auto found = library->address("PMIx_Finalize"); found.ok()) {
    static_cast<void>(reinterpret_cast<Finalize>(*found)(nullptr, 0));
  }
}

}  // namespace dlo::comm
