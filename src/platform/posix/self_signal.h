// Owns: how a process ends or stops itself for a crash fault: SIGKILL and SIGSTOP, at once or after
// a while, from outside of whatever the process is doing then.
// Must not own: when that happens (fault/crash_device.h).
// Threading: any thread; the signal is the whole process's. Failure: SystemError.
#pragma once

#include "base/deadline.h"

namespace dlo::platform {

enum class SelfSignal { kKill, kStop };

// Does not return with kKill; returns once somebody continues the process with kStop.
void signal_self(SelfSignal signal);
// The kernel sends the signal after `delay`, whatever the process waits for by then.
void signal_self_after(SelfSignal signal, Nanoseconds delay);

}  // namespace dlo::platform
