// Owns: the World over MPI and MPI's life in this process: one MPI thread makes every MPI call,
// Init and Finalize included; others hand it operations and wait under a deadline.
// Must not own: what is exchanged, or the verdicts of scenarios.
// Threading: as comm/communicator.h. Only non-blocking MPI operations, polled with a short sleep.
// Failure: an operation past its deadline, or whose peer failed, is abandoned; after that MPI is
// never finalised: leave() flushes and ends the process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "platform/clock.h"

namespace dlo::comm {

struct MpiWorldOptions {
  Nanoseconds start_timeout = 120 * kSecond;    // MPI_Init_thread and the first exchange
  Nanoseconds finalize_timeout = 10 * kSecond;  // MPI_Finalize
  Nanoseconds heartbeat_timeout = 6 * kSecond;  // silence after which a peer counts as failed
};

class MpiWorld : public World {
 public:
  // Starts the MPI thread and MPI (or joins an MPI that was initialised with
  // MPI_THREAD_MULTIPLE, which is then not finalised here). Refuses a process that believes to be
  // alone although a launcher started several. `argc`, `argv` as of main; may be null.
  // `clock` outlives the world.
  [[nodiscard]] static Result<std::unique_ptr<MpiWorld>> start(int* argc, char*** argv,
                                                               const MpiWorldOptions& options,
                                                               platform::Clock& clock);

  // Ends this rank's part: flushes stdio (mpirun kills the other ranks as soon as one exits with a
  // code, so print before), agrees on the highest exit code of all ranks, finalises MPI under a
  // watchdog and returns that code for main to return. After a failed collective it does not
  // return: it aborts the communicators, flushes and calls _exit with the code agreed as far as
  // ranks still answer. Call once, as the last use of the world.
  [[nodiscard]] int leave(int exit_code);

  ~MpiWorld() override;
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;

  [[nodiscard]] std::string_view kind() const override { return "mpi"; }
  [[nodiscard]] int rank() const override;
  [[nodiscard]] int size() const override;
  [[nodiscard]] NodePlace node_place() const override;
  [[nodiscard]] ControlGroup& control() override;
  [[nodiscard]] FailureSignal& failure_signal() override;
  void reset_failures() override;
  void watch_failures_of(const std::vector<int>& world_ranks) override;
  [[nodiscard]] Result<std::unique_ptr<ControlGroup>> make_control_group(
      const std::vector<int>& world_ranks, std::string_view purpose, Deadline deadline) override;
  [[nodiscard]] Result<std::unique_ptr<Communicator>> make_communicator(
      const std::vector<int>& world_ranks, std::string_view purpose, Deadline deadline,
      Nanoseconds collective_timeout) override;

 private:
  class State;
  explicit MpiWorld(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace dlo::comm
