#include "comm/mpi/mpi_world.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>

#include "base/codes.h"
#include "comm/mpi/launch_check.h"
#include "comm/mpi/launcher_exit.h"
#include "comm/mpi/mpi_error.h"
#include "comm/mpi/mpi_groups.h"

namespace dlo::comm {

namespace {

constexpr Nanoseconds kLeaveTimeout = 10 * kSecond;
constexpr Nanoseconds kLeavePoll = 20 * kMillisecond;

std::vector<int> all_ranks(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// What a rank tells the others at the start: where it runs and where its page lies.
struct Place {
  std::string node;
  int pid = 0;
  int descriptor = -1;
};

std::string place_text(const Place& place) {
  return fmt::format("{} {} {}", place.node, place.pid, place.descriptor);
}

Place parse_place(const std::string& text) {
  const auto second = text.rfind(' ');
  const auto first = text.rfind(' ', second - 1);
  return {text.substr(0, first), std::atoi(text.c_str() + first + 1),
          std::atoi(text.c_str() + second + 1)};
}

}  // namespace

class MpiWorld::State {
 public:
  State(std::shared_ptr<MpiState> shared, const MpiWorldOptions& options)
      : shared_(std::move(shared)), options_(options) {}

  // The control group over all ranks, then the node's failure board.
  [[nodiscard]] Status connect(Deadline deadline);
  [[nodiscard]] Result<std::vector<std::string>> exchange_exit_code(int exit_code);
  // `together`: all ranks end now, with this code.
  void end_mpi(int exit_code, bool together);

  [[nodiscard]] MpiState& shared() { return *shared_; }
  [[nodiscard]] const std::shared_ptr<MpiState>& shared_pointer() { return shared_; }
  [[nodiscard]] ControlGroup& control() { return *control_; }
  [[nodiscard]] Nanoseconds now() const { return shared_->clock->now(); }
  bool left = false;
  NodePlace node_place;

 private:
  // mpirun ends the other ranks as soon as one exits with a code: those that still write their
  // verdicts get the time for it.
  void await_others();
  [[nodiscard]] Status open_board(Deadline deadline);
  [[nodiscard]] Result<std::vector<Place>> exchange_places(int descriptor, Deadline deadline);

  std::shared_ptr<MpiState> shared_;
  MpiWorldOptions options_;
  std::unique_ptr<MpiControlGroup> control_;
};

Status MpiWorld::State::connect(Deadline deadline) {
  MpiState& shared = *shared_;
  // Until the node's board is there, a private one takes its place.
  auto page = SharedPage::create("failure board", FailureBoard::bytes_for(shared.size));
  if (!page.ok()) {
    return page.refusal();
  }
  shared.page = std::make_unique<SharedPage>(std::move(*page));
  shared.signal =
      std::make_unique<BoardSignal>(FailureBoard(shared.page->bytes(), shared.size), shared.rank);
  for (auto* comm : {&shared.control_comm, &shared.creation_comm}) {
    auto made = duplicate_world(shared, deadline);
    if (!made.ok()) {
      return made.refusal();
    }
    *comm = std::move(*made);
  }
  control_ = std::make_unique<MpiControlGroup>(
      shared_, shared.control_comm, members_of(all_ranks(shared.size), shared.rank), true);
  return open_board(deadline);
}

Result<std::vector<Place>> MpiWorld::State::exchange_places(int descriptor, Deadline deadline) {
  const Place mine{node_identity(), static_cast<int>(::getpid()), descriptor};
  auto texts = control_->exchange("places", place_text(mine), deadline);
  if (!texts.ok()) {
    return texts.refusal();
  }
  std::vector<Place> places;
  std::transform(texts->begin(), texts->end(), std::back_inserter(places), parse_place);
  return places;
}

// The page of the node's lowest rank becomes everybody's.
Status MpiWorld::State::open_board(Deadline deadline) {
  MpiState& shared = *shared_;
  const auto places = exchange_places(shared.page->descriptor(), deadline);
  if (!places.ok()) {
    return places.refusal();
  }
  const auto& own = (*places)[static_cast<std::size_t>(shared.rank)];
  const auto on_node = [&own](const Place& place) { return place.node == own.node; };
  const auto owner = std::find_if(places->begin(), places->end(), on_node);
  Status opened;
  if (owner->pid != own.pid) {
    auto page = SharedPage::open("failure board", owner->pid, owner->descriptor,
                                 FailureBoard::bytes_for(shared.size));
    if (page.ok()) {
      shared.signal.reset();
      *shared.page = std::move(*page);
    } else {
      opened = page.refusal();
    }
  }
  const FailureBoard board(shared.page->bytes(), shared.size);
  shared.signal = std::make_unique<BoardSignal>(board, shared.rank);
  // Behind this vote nobody opens a page any more.
  const Status agreed = vote(*control_, "failure board", opened, deadline);
  if (!agreed.ok()) {
    return agreed;
  }
  shared.page->close_descriptor();
  std::vector<PeerLiveness::Peer> peers;
  node_place = {0, 0};
  for (int rank = 0; rank < shared.size; ++rank) {
    const auto& place = (*places)[static_cast<std::size_t>(rank)];
    node_place.local_size += on_node(place) ? 1 : 0;
    node_place.local_rank += on_node(place) && rank < shared.rank ? 1 : 0;
    if (rank != shared.rank && on_node(place)) {
      peers.push_back({rank, place.pid});
    }
  }
  shared.liveness = std::make_unique<PeerLiveness>(board, shared.rank, peers,
                                                   options_.heartbeat_timeout, *shared.clock);
  shared.signal->look_after(shared.liveness.get());
  shared.thread->set_tick(
      [signal = shared.signal.get()] { static_cast<void>(signal->poll().has_value()); });
  return {};
}

Result<std::vector<std::string>> MpiWorld::State::exchange_exit_code(int exit_code) {
  return control_->exchange("leave", std::to_string(exit_code),
                            Deadline::after(now(), kLeaveTimeout));
}

void MpiWorld::State::await_others() {
  MpiState& shared = *shared_;
  if (!shared.liveness) {
    return;
  }
  const Deadline deadline = Deadline::after(now(), kLeaveTimeout);
  while (!shared.liveness->alone() && !deadline.expired(now())) {
    static_cast<void>(shared.liveness->look());
    shared.clock->sleep(kLeavePoll);
  }
}

// Returns once MPI is finalised. Otherwise the process ends here, with `exit_code`.
void MpiWorld::State::end_mpi(int exit_code, bool together) {
  MpiState& shared = *shared_;
  if (shared.liveness) {
    shared.liveness->depart();
  }
  const bool adopted = shared.thread->adopted();
  bool clean = !shared.thread->broken();
  if (clean && !adopted) {
    const Deadline deadline = Deadline::after(now(), options_.finalize_timeout);
    clean = shared.thread
                ->call(
                    "MPI_Finalize", [] { check_mpi("MPI_Finalize", MPI_Finalize()); }, deadline)
                .ok();
  }
  // Communicators that are destroyed from now on must not be freed through MPI.
  shared.thread->mark_broken();
  if (!clean && !adopted) {
    await_others();
    // A collective was left open, and yet this job ends in good order.
    if (together) {
      static_cast<void>(shared.thread->call(
          "PMIx_Finalize", [] { take_leave_of_launcher(); },
          Deadline::after(now(), options_.finalize_timeout)));
    }
    std::fflush(nullptr);
    ::_exit(exit_code);
  }
}

MpiWorld::MpiWorld(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<MpiWorld>> MpiWorld::start(int* argc, char*** argv,
                                                  const MpiWorldOptions& options,
                                                  platform::Clock& clock) {
  const Deadline deadline = Deadline::after(clock.now(), options.start_timeout);
  auto thread = MpiThread::start(argc, argv, deadline, clock);
  if (!thread.ok()) {
    return thread.refusal();
  }
  auto shared = std::make_shared<MpiState>();
  shared->thread = *thread;
  shared->clock = &clock;
  shared->rank = (*thread)->rank();
  shared->size = (*thread)->size();
  auto state = std::make_unique<State>(shared, options);
  const auto lookup = [](const char* name) -> const char* { return std::getenv(name); };
  if (const Status launched = check_launch(shared->size, lookup); !launched.ok()) {
    return launched.refusal();
  }
  if (const Status connected = state->connect(deadline); !connected.ok()) {
    return connected.refusal();
  }
  return std::unique_ptr<MpiWorld>(new MpiWorld(std::move(state)));
}

int MpiWorld::leave(int exit_code) {
  state_->left = true;
  // mpirun ends the others as soon as one rank exits with a code: nothing may be left in buffers.
  std::fflush(nullptr);
  int agreed = exit_code;
  const auto codes = state_->exchange_exit_code(exit_code);
  if (codes.ok()) {
    for (const auto& code : *codes) {
      agreed = std::max(agreed, std::atoi(code.c_str()));
    }
  } else {
    agreed = std::max(agreed, 1);
    state_->shared().thread->mark_broken();
  }
  state_->end_mpi(agreed, codes.ok());
  return agreed;
}

MpiWorld::~MpiWorld() {
  // Without leave() somebody is unwinding: the others learn it from the board, not from a hang.
  MpiState& shared = state_->shared();
  if (!state_->left && !shared.thread->adopted()) {
    shared.thread->mark_broken();
  }
  static_cast<void>(shared.thread->stop(Deadline::after(state_->now(), kSecond)));
}

int MpiWorld::rank() const {
  return state_->shared().rank;
}
int MpiWorld::size() const {
  return state_->shared().size;
}
NodePlace MpiWorld::node_place() const {
  return state_->node_place;
}
ControlGroup& MpiWorld::control() {
  return state_->control();
}
FailureSignal& MpiWorld::failure_signal() {
  return *state_->shared().signal;
}
void MpiWorld::reset_failures() {
  state_->shared().signal->next_epoch();
}
void MpiWorld::watch_failures_of(const std::vector<int>& world_ranks) {
  state_->shared().signal->watch(world_ranks);
}

Result<std::unique_ptr<ControlGroup>> MpiWorld::make_control_group(
    const std::vector<int>& world_ranks, std::string_view purpose, Deadline deadline) {
  auto comm = create_comm(state_->shared_pointer(), world_ranks, purpose, deadline);
  if (!comm.ok()) {
    return comm.refusal();
  }
  return std::unique_ptr<ControlGroup>(std::make_unique<MpiControlGroup>(
      state_->shared_pointer(), std::move(*comm), members_of(world_ranks, rank()), false));
}

Result<std::unique_ptr<Communicator>> MpiWorld::make_communicator(
    const std::vector<int>& world_ranks, std::string_view purpose, Deadline deadline,
    Nanoseconds collective_timeout) {
  auto comm = create_comm(state_->shared_pointer(), world_ranks, purpose, deadline);
  if (!comm.ok()) {
    return comm.refusal();
  }
  return std::unique_ptr<Communicator>(
      std::make_unique<MpiCommunicator>(state_->shared_pointer(), std::move(*comm),
                                        members_of(world_ranks, rank()), collective_timeout));
}

}  // namespace dlo::comm
