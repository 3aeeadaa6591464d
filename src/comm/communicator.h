// Owns: the two seams to other ranks. Communicator: stream-ordered AllGather of device bytes, one
// communicator a purpose. ControlGroup: small host-side exchanges under a deadline (votes, digests,
// verdicts), never used for data.
// Must not own: groups' coordinates (comm/process_groups.h), schedules, or weights.
// Implemented by threads/ (ranks in one process), mpi/, sim/, nccl/, copy_engine/.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/failure_signal.h"
#include "base/result.h"
#include "base/tensor_view.h"
#include "platform/device.h"

namespace dlo::comm {

// One gather of a piece into its place.
struct PieceGather {
  DeviceSpan input;
  DeviceSpan output;

  friend bool operator==(const PieceGather&, const PieceGather&) = default;
};

// Collective over device memory. All ranks of the group call the same operations in the same order.
class Communicator {
 public:
  virtual ~Communicator() = default;

  [[nodiscard]] virtual int rank() const = 0;  // inside the group
  [[nodiscard]] virtual int size() const = 0;

  // Enqueues on `stream` of `device`: output[r * input.bytes, ...) = input of rank r. `output` must
  // hold exactly size() * input.bytes (LogicError otherwise): callers narrow it to the chunk.
  // Both spans stay untouched by others until an event behind the operation. A peer's failure, a
  // mismatch of sizes or the collective deadline fails the device with a code. Allocates nothing.
  virtual void all_gather(platform::Device& device, platform::StreamKind stream, DeviceSpan input,
                          DeviceSpan output, const platform::OpLabel& label) = 0;

  // Set-up, collective: `inputs` of this rank, the k-th like the k-th of every other, are what
  // later gathers read. The answer is this rank's: callers vote on it. Most communicators need not
  // know.
  [[nodiscard]] virtual Status share_inputs(platform::Device& /*device*/,
                                            const std::vector<DeviceSpan>& /*inputs*/,
                                            Deadline /*deadline*/) {
    return {};
  }
  // Set-up, behind share_inputs(): these gathers will be issued again and again, others may be. The
  // answer is this rank's. Most communicators have nothing to prepare.
  [[nodiscard]] virtual Status prepare_gathers(const std::vector<PieceGather>& /*gathers*/) {
    return {};
  }
  // Collective, before shared inputs are freed, with no gather of theirs in flight: behind it no
  // peer knows them any more, unless the deadline or a failure ended it early. Never throws.
  virtual void forget_inputs(const std::vector<DeviceSpan>& /*inputs*/,
                             Deadline /*deadline*/) noexcept {}

  // Future operations end with collective_failed; present ones end, and what they leave in their
  // outputs is void: who aborts has failed, and raises that before. Idempotent, and to be repeated
  // while a wait goes on. Launching thread, or any thread where a class says so.
  virtual void abort() noexcept = 0;
};

// Host-side exchange of short texts between the ranks of a group, in rank order.
class ControlGroup {
 public:
  virtual ~ControlGroup() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;

  // Every rank contributes `mine` (at most kControlBytesMax) and receives all contributions by
  // rank. `operation` names the exchange in errors ("vote", "digest"). Codes: deadline_exceeded,
  // or the standing failure of a peer.
  [[nodiscard]] virtual Result<std::vector<std::string>> exchange(std::string_view operation,
                                                                  std::string_view mine,
                                                                  Deadline deadline) = 0;
};

inline constexpr std::uint64_t kControlBytesMax = 64 * kMiB;

// Which of its node's ranks a rank is; ranks of a node share its accelerators.
struct NodePlace {
  int local_rank = 0;
  int local_size = 1;
};

// All ranks of the job, as one rank sees them. Groups are made collectively: every rank in
// `world_ranks` calls with the same list in the same order; rank in group = position in the list.
class World {
 public:
  virtual ~World() = default;

  [[nodiscard]] virtual std::string_view kind() const = 0;  // "threads", "mpi", "sim"
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  // One node unless the implementation knows better.
  [[nodiscard]] virtual NodePlace node_place() const { return {rank(), size()}; }
  // Over the whole world, and the way back after a failure: on threads and MPI a standing failure
  // does not end its exchanges, a vanished member does.
  [[nodiscard]] virtual ControlGroup& control() = 0;
  [[nodiscard]] virtual FailureSignal& failure_signal() = 0;

  // Clears a standing failure between two scenarios; all ranks call it together, behind a world
  // exchange and before the next operation.
  virtual void reset_failures() = 0;
  // Exactly these world ranks' failures end this rank's waits from now on; an empty list: nobody's.
  // Every rank is watched at first.
  virtual void watch_failures_of(const std::vector<int>& world_ranks) = 0;

  [[nodiscard]] virtual Result<std::unique_ptr<ControlGroup>> make_control_group(
      const std::vector<int>& world_ranks, std::string_view purpose, Deadline deadline) = 0;
  // `collective_timeout` bounds each operation of the communicator.
  [[nodiscard]] virtual Result<std::unique_ptr<Communicator>> make_communicator(
      const std::vector<int>& world_ranks, std::string_view purpose, Deadline deadline,
      Nanoseconds collective_timeout) = 0;
};

// Outcome of a vote: ok when all ranks said ok, otherwise the refusal of the lowest refusing rank,
// with that rank in `where`. Every rank gets the same answer.
[[nodiscard]] Status vote(ControlGroup& group, std::string_view operation, const Status& mine,
                          Deadline deadline);

// Ok when all ranks hold the same text; otherwise `mismatch_code` naming the first rank that
// differs from rank 0. Every rank gets the same answer.
[[nodiscard]] Status agree(ControlGroup& group, std::string_view operation, std::string_view text,
                           std::string_view mismatch_code, Deadline deadline);

}  // namespace dlo::comm
