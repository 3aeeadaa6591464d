// Owns: MpiExchange, one exchange of texts among the ranks of a group: headers first, then the
// texts that do not fit into them.
// Must not own: groups. Threading: an operation of the MPI thread; read after it was awaited.
// Failure: the refusal in status(); receives are cancelled, so the group stays usable.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/communicator_wait.h"
#include "comm/mpi/header_round.h"
#include "comm/mpi/mpi_state.h"

namespace dlo::comm {

// Beyond an operation's own deadline, for an MPI thread that is stuck.
inline constexpr Nanoseconds kStuckGrace = 5 * kSecond;

class MpiExchange : public MpiOperation {
 public:
  struct Request {
    std::shared_ptr<MpiCommHandle> comm;
    MpiMembers members;
    int tag = 1;  // of the headers; texts use the next one
    std::uint64_t sequence = 0;
    std::string operation;
    std::string text;
    Deadline deadline;
    bool through_failures = false;
  };

  MpiExchange(std::shared_ptr<MpiState> state, Request request);

  Progress progress() override;
  // After await.
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] std::vector<std::string> take_texts() { return std::move(texts_); }

 private:
  enum class Stage : std::uint8_t { kBegin, kHeaders, kTexts };

  [[nodiscard]] Progress advance();
  [[nodiscard]] Progress leave(const Refusal& refusal);
  void begin();
  void check_headers() const;
  void begin_texts();
  [[nodiscard]] bool look_at_texts();
  [[nodiscard]] bool cancel_texts();
  [[nodiscard]] std::string missing() const;

  std::shared_ptr<MpiState> state_;
  Request request_;
  WaitRules rules_;
  HeaderRound headers_;
  Stage stage_ = Stage::kBegin;
  std::vector<std::string> texts_;
  std::vector<MPI_Request> receives_;
  std::vector<MPI_Request> sends_;
  Status status_;
};

// Hands the exchange in and waits for it; a group of one needs no MPI.
[[nodiscard]] Result<std::vector<std::string>> run_exchange(const std::shared_ptr<MpiState>& state,
                                                            MpiExchange::Request request);

// World ranks of members whose header has not come, "1, 3".
[[nodiscard]] std::string missing_members(const HeaderRound& headers, const MpiMembers& members);

}  // namespace dlo::comm
