// Owns: the name that a thread of this process has for the kernel, and so for top, a debugger and
// the line of a leak (telemetry/process_resources.h). Threads that a named one starts inherit it.
// Must not own: threads. Threading: any, for itself. Failure: none; a name that the kernel does not
// take is missed by readers only.
#pragma once

#include <cstddef>
#include <string_view>

namespace dlo::platform {

// The kernel's limit; what is longer is cut.
inline constexpr std::size_t kThreadNameMax = 15;

// Ours begin with "dlo-"; those of a GPU's driver begin with "cuda".
void name_this_thread(std::string_view name) noexcept;

}  // namespace dlo::platform
