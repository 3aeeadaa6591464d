#include "harness/world_session.h"

#include <array>
#include <cstdlib>

#include "base/codes.h"
#include "comm/threads/thread_world.h"
#ifdef DLO_WITH_MPI
#include "comm/mpi/mpi_world.h"
#endif

namespace dlo::harness {
namespace {

// Set by Open MPI's, PMIx's and Hydra's launchers.
bool has_launcher() {
  constexpr std::array kVariables{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_SIZE"};
  for (const char* variable : kVariables) {
    if (std::getenv(variable) != nullptr) {
      return true;
    }
  }
  return false;
}

class SingleRankSession : public WorldSession {
 public:
  explicit SingleRankSession(platform::Clock& clock)
      : world_(std::move(comm::make_thread_world(1, clock).front())) {}

  [[nodiscard]] comm::World& world() override { return *world_; }
  [[nodiscard]] int leave(ExitCode code) override { return static_cast<int>(code); }

 private:
  std::unique_ptr<comm::World> world_;
};

#ifdef DLO_WITH_MPI
class MpiSession : public WorldSession {
 public:
  explicit MpiSession(std::unique_ptr<comm::MpiWorld> world) : world_(std::move(world)) {}

  [[nodiscard]] comm::World& world() override { return *world_; }
  [[nodiscard]] int leave(ExitCode code) override { return world_->leave(static_cast<int>(code)); }

 private:
  std::unique_ptr<comm::MpiWorld> world_;
};
#endif

}  // namespace

Result<std::unique_ptr<WorldSession>> WorldSession::start(int* argc, char*** argv,
                                                          platform::Clock& clock) {
  if (!has_launcher()) {
    return std::unique_ptr<WorldSession>(std::make_unique<SingleRankSession>(clock));
  }
#ifdef DLO_WITH_MPI
  auto world = comm::MpiWorld::start(argc, argv, comm::MpiWorldOptions{}, clock);
  if (!world) {
    return world.refusal();
  }
  return std::unique_ptr<WorldSession>(std::make_unique<MpiSession>(std::move(world).value()));
#else
  static_cast<void>(argc);
  static_cast<void>(argv);
  return refuse(codes::kNotInThisProduct, "this build has no MPI", "DLO_WITH_MPI=OFF",
                "start dlo without mpirun, or build with MPI");
#endif
}

}  // namespace dlo::harness
