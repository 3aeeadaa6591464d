// Owns: what the parts of one MpiWorld share: the MPI thread, the failure signal with the memory
// under it, and MPI communicators that are freed on the MPI thread.
// Must not own: exchanges (mpi_control_group, mpi_communicator).
// Threading: any thread, unless said otherwise. Failure: Refusals.
#pragma once

#include <mpi.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm/failure_board.h"
#include "comm/mpi/mpi_thread.h"
#include "comm/peer_liveness.h"
#include "comm/shared_page.h"

namespace dlo::comm {

// The ranks of a group, in the communicator that carries its messages.
struct MpiMembers {
  std::vector<int> world_ranks;
  std::vector<int> peers;  // their ranks inside the communicator
  std::size_t position = 0;
};

// An MPI_Comm of its own; freed on the MPI thread, unless an operation on it was left early: then
// messages may lie unmatched, and a new communicator under the reused number would receive them.
class MpiCommHandle {
 public:
  explicit MpiCommHandle(std::shared_ptr<MpiThread> thread) : thread_(std::move(thread)) {}
  ~MpiCommHandle();
  MpiCommHandle(const MpiCommHandle&) = delete;
  MpiCommHandle& operator=(const MpiCommHandle&) = delete;

  // Written on the MPI thread before others hold the handle.
  MPI_Comm comm = MPI_COMM_NULL;
  std::atomic<bool> kept{false};

 private:
  std::shared_ptr<MpiThread> thread_;
};

struct MpiState {
  std::shared_ptr<MpiThread> thread;
  platform::Clock* clock = nullptr;
  int rank = 0;
  int size = 1;
  std::shared_ptr<MpiCommHandle> control_comm;   // a copy of MPI_COMM_WORLD for the world's control
  std::shared_ptr<MpiCommHandle> creation_comm;  // another, for the making of groups
  std::unique_ptr<SharedPage> page;
  std::unique_ptr<PeerLiveness> liveness;
  std::unique_ptr<BoardSignal> signal;
  std::map<std::string, int> groups_made;  // by name, so that a second one is another group

  ~MpiState();
};

// MPI_Comm_dup of MPI_COMM_WORLD, at the start when all ranks are known to come.
[[nodiscard]] Result<std::shared_ptr<MpiCommHandle>> duplicate_world(MpiState& state,
                                                                     Deadline deadline);

// A communicator over `world_ranks`, made once all of them have come: the creating MPI call
// blocks, and before that nobody does.
[[nodiscard]] Result<std::shared_ptr<MpiCommHandle>> create_comm(
    const std::shared_ptr<MpiState>& state, const std::vector<int>& world_ranks,
    std::string_view purpose, Deadline deadline);

// Group of `world_ranks` with peers 0 ... n-1, as in a communicator made by create_comm.
[[nodiscard]] MpiMembers members_of(const std::vector<int>& world_ranks, int rank);

}  // namespace dlo::comm
