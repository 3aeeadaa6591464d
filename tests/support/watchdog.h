// The watchdog of every test executable (dlo_add_test links it in; nothing needs to call it).
// Owns: one SIGALRM for the whole program, a little before CTest's own TIMEOUT, and the name of
// the running test. Does not own: deadlines of the product, which must fire long before.
// Threading: the handler runs on any thread and calls only async-signal-safe functions.
// Failure: a program past its deadline names the running test (and rank), prints a stack of the
// interrupted thread and aborts, so that a hang is a failure with a name.
#pragma once

#include <gtest/gtest.h>

namespace dlo::test_support {

// Seconds after which a test program is aborted when CTest did not say (DLO_TEST_TIMEOUT_S).
inline constexpr unsigned kDefaultTimeoutS = 300;

class Watchdog : public testing::EmptyTestEventListener {
 public:
  // Arms the alarm for nine tenths of DLO_TEST_TIMEOUT_S, so that it beats CTest.
  void OnTestProgramStart(const testing::UnitTest& unit_test) override;
  // Notes the name for the message.
  void OnTestStart(const testing::TestInfo& info) override;
  // Disarms the alarm; what follows (MPI_Finalize) has CTest's timeout only.
  void OnTestProgramEnd(const testing::UnitTest& unit_test) override;
};

}  // namespace dlo::test_support
