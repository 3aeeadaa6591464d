#include "comm/mpi/mpi_state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "comm/mpi/mpi_error.h"
#include "comm/mpi/mpi_exchange.h"

namespace dlo::comm {

namespace {

// Tags of group creation: two a group, from a hash that all members compute alike. Two groups that
// share ranks and a tag at one time would need equal hashes and concurrent creation.
int creation_tag(const std::string& key) {
  std::uint32_t hash = 2166136261U;
  for (const char c : key) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  }
  return 2 + 2 * static_cast<int>(hash % 16000U);
}

}  // namespace

MpiCommHandle::~MpiCommHandle() {
  if (comm != MPI_COMM_NULL && !kept.load() && !thread_->broken()) {
    thread_->post([freed = comm]() mutable { MPI_Comm_free(&freed); });
  }
}

MpiState::~MpiState() {
  if (thread) {
    thread->set_tick(nullptr);
  }
}

MpiMembers members_of(const std::vector<int>& world_ranks, int rank) {
  const auto found = std::find(world_ranks.begin(), world_ranks.end(), rank);
  require(found != world_ranks.end(), "a rank makes a group that it is not part of");
  MpiMembers members{world_ranks, std::vector<int>(world_ranks.size()),
                     static_cast<std::size_t>(found - world_ranks.begin())};
  std::iota(members.peers.begin(), members.peers.end(), 0);
  return members;
}

Result<std::shared_ptr<MpiCommHandle>> duplicate_world(MpiState& state, Deadline deadline) {
  const auto handle = std::make_shared<MpiCommHandle>(state.thread);
  const Status made = state.thread->call(
      "MPI_Comm_dup",
      [handle] {
        check_mpi("MPI_Comm_dup", MPI_Comm_dup(MPI_COMM_WORLD, &handle->comm));
        MPI_Comm_set_errhandler(handle->comm, MPI_ERRORS_RETURN);
      },
      deadline);
  if (!made.ok()) {
    return made.refusal();
  }
  return handle;
}

Result<std::shared_ptr<MpiCommHandle>> create_comm(const std::shared_ptr<MpiState>& state,
                                                   const std::vector<int>& world_ranks,
                                                   std::string_view purpose, Deadline deadline) {
  const auto handle = std::make_shared<MpiCommHandle>(state->thread);
  if (world_ranks.size() == 1) {
    return handle;
  }
  const auto name = fmt::format("{} over {}", purpose, fmt::join(world_ranks, ","));
  const auto key = fmt::format("{} #{}", name, state->groups_made[name]++);
  const int tag = creation_tag(key);
  MpiMembers members = members_of(world_ranks, state->rank);
  members.peers = world_ranks;
  auto met = run_exchange(state, MpiExchange::Request{state->creation_comm, members, tag, 0,
                                                      "create " + key, "", deadline, false});
  if (!met.ok()) {
    return met.refusal();
  }
  const Status made = state->thread->call(
      "MPI_Comm_create_group",
      [handle, world_ranks, tag] {
        MPI_Group world = MPI_GROUP_NULL;
        MPI_Group group = MPI_GROUP_NULL;
        check_mpi("MPI_Comm_group", MPI_Comm_group(MPI_COMM_WORLD, &world));
        check_mpi("MPI_Group_incl", MPI_Group_incl(world, static_cast<int>(world_ranks.size()),
                                                   world_ranks.data(), &group));
        check_mpi("MPI_Comm_create_group",
                  MPI_Comm_create_group(MPI_COMM_WORLD, group, tag, &handle->comm));
        MPI_Group_free(&group);
        MPI_Group_free(&world);
        MPI_Comm_set_errhandler(handle->comm, MPI_ERRORS_RETURN);
      },
      deadline);
  if (!made.ok()) {
    return made.refusal();
  }
  return handle;
}

}  // namespace dlo::comm
