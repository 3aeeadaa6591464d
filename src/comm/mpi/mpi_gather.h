// Owns: MpiGather, the AllGather of one communicator as an operation of the MPI thread: headers
// first (who is missing, sizes, labels, order), then chunks through a staging buffer of its own,
// so that an abandoned collective never writes into memory that the caller frees.
// Must not own: streams. Threading: one gather at a time; prepare and run on the waiting thread.
// Failure: the refusal that run() returns; the communicator is of no use afterwards.
// Allocates nothing after construction (MPI's own schedules aside).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/tensor_view.h"
#include "comm/communicator_wait.h"
#include "comm/mpi/header_round.h"
#include "comm/mpi/mpi_state.h"
#include "platform/op_label.h"

namespace dlo::comm {

class MpiGather : public MpiOperation {
 public:
  // Bytes of one rank in one MPI call: far below INT_MAX, and W + 1 of them are a small buffer.
  static constexpr std::size_t kChunkBytes = 1 * kMiB;

  MpiGather(std::shared_ptr<MpiState> state, std::shared_ptr<MpiCommHandle> comm,
            MpiMembers members);

  struct Call {
    std::uint64_t sequence = 0;
    platform::OpLabel label;
    DeviceSpan input;
    DeviceSpan output;
    Deadline deadline;
  };

  // Hands `call` in as `self` and waits for its end.
  [[nodiscard]] static Status run(const std::shared_ptr<MpiGather>& self, const Call& call);

  Progress progress() override;
  void abort() noexcept { aborted_.store(true); }

 private:
  enum class Stage : std::uint8_t { kBegin, kHeaders, kChunk };

  [[nodiscard]] Progress advance();
  [[nodiscard]] Progress leave(const Refusal& refusal);
  void check_headers() const;
  // True when there was one more chunk to begin.
  [[nodiscard]] bool begin_chunk();
  void end_chunk();
  [[nodiscard]] std::string missing() const;
  [[nodiscard]] Refusal aborted_refusal() const;

  std::shared_ptr<MpiState> state_;
  std::shared_ptr<MpiCommHandle> comm_;
  const MpiMembers members_;
  HeaderRound headers_;
  std::unique_ptr<std::byte[]> staging_;  // this rank's chunk, then all ranks' chunks
  std::atomic<bool> aborted_{false};
  std::atomic<bool> broken_{false};

  // Of the present call.
  Call call_;
  WaitRules rules_;
  Stage stage_ = Stage::kBegin;
  std::uint64_t done_bytes_ = 0;
  std::size_t chunk_bytes_ = 0;
  MPI_Request request_ = MPI_REQUEST_NULL;
  Status status_;
  std::mutex spans_mutex_;  // held while input or output are touched
  bool caller_left_ = false;
};

}  // namespace dlo::comm
