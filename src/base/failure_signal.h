// Owns: the interface by which one rank's failure reaches the waits of the others: one failure,
// one name. Implemented by comm/failure_board; carried by RankContext, so that platform and
// host_weights leave their waits too without knowing comm.
// Must not own: data exchange or the decision to end the process.
// Threading: every function may be called from any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/refusal.h"

namespace dlo {

// Who failed first, where, and with which code.
struct Failure {
  std::string code;       // stable code
  int rank = -1;          // world rank that failed
  int block = -1;         // block index, -1 when no block is concerned
  std::string operation;  // "gather", "pin", "copy", ...
  std::string detail;     // one sentence

  // "rank 1 failed: <detail> [code] (gather, block 2)".
  [[nodiscard]] std::string message() const;
  // As a refusal that every concerned rank can end with.
  [[nodiscard]] Refusal refusal() const;
};

class FailureSignal {
 public:
  virtual ~FailureSignal() = default;

  // Publishes `failure` unless an earlier one stands; the first one wins.
  virtual void raise(const Failure& failure) = 0;

  // The standing failure of a rank that shares a group with this one, if any. Cheap: called in
  // every poll of every wait.
  [[nodiscard]] virtual std::optional<Failure> poll() const = 0;
};

// A signal within one process for single-rank use and tests; thread-safe.
[[nodiscard]] std::unique_ptr<FailureSignal> make_local_failure_signal();

}  // namespace dlo
