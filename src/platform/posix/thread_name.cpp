#include "platform/posix/thread_name.h"

#include <pthread.h>

#include <algorithm>
#include <array>

namespace dlo::platform {

void name_this_thread(std::string_view name) noexcept {
  std::array<char, kThreadNameMax + 1> text{};
  std::copy_n(name.begin(), std::min(name.size(), kThreadNameMax), text.begin());
  static_cast<void>(::pthread_setname_np(::pthread_self(), text.data()));
}

}  // namespace dlo::platform
