// The main of tests that run under mpirun (library dlo::mpi_main). Rank 0 prints as usual, the
// others only their failures, with their rank. The exit code is agreed: all ranks fail when one
// does. A rank that does not come to the agreement ends the others after kAgreementTimeout.
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

namespace {

constexpr std::chrono::seconds kAgreementTimeout{20};
constexpr std::chrono::milliseconds kPollInterval{1};
constexpr int kExitWithoutAgreement = 1;

// Prints failures only, each with rank and test name.
class FailurePrinter : public testing::EmptyTestEventListener {
 public:
  explicit FailurePrinter(int rank) : rank_(rank) {}

  void OnTestStart(const testing::TestInfo& info) override {
    // Kept here: asking GoogleTest for it in OnTestPartResult deadlocks on its own lock.
    test_name_ = std::string(info.test_suite_name()) + "." + info.name();
  }

  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) {
      return;
    }
    std::ostringstream text;
    text << "[rank " << rank_ << "] " << test_name_ << ": "
         << (result.file_name() != nullptr ? result.file_name() : "?") << ':'
         << result.line_number() << ": " << result.message() << '\n';
    std::fputs(text.str().c_str(), stderr);
  }

 private:
  int rank_;
  std::string test_name_ = "(no test)";
};

void print_failures_only(int rank) {
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  const std::unique_ptr<testing::TestEventListener> replaced(
      listeners.Release(listeners.default_result_printer()));
  listeners.Append(new FailurePrinter(rank));
}

// The worst code of all ranks. Polled, for a blocking reduction has no deadline.
int agree(int code, int rank) {
  int worst = code;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&code, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
  const auto deadline = std::chrono::steady_clock::now() + kAgreementTimeout;
  int done = 0;
  while (done == 0) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0 && std::chrono::steady_clock::now() > deadline) {
      std::fprintf(stderr, "[rank %d] another rank did not finish its tests; giving up\n", rank);
      // Finalize would wait for the rank that is missing.
      ::_exit(kExitWithoutAgreement);
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  testing::InitGoogleTest(&argc, argv);
  if (rank != 0) {
    print_failures_only(rank);
  }
  const int code = agree(RUN_ALL_TESTS(), rank);
  MPI_Finalize();
  return code;
}
