// Owns: ChunkPacker, which fills staging chunks from the mapped sources of blocks, on the pack
// stream's thread and with the help of an executor's workers. Two chunks are under way at once, so
// that the workers go on with the next one while the stream is on its way from one to the other.
// Must not own: staging memory (backend), the order of chunks (staged_transfer.h), the mapping.
// Threading: begin(), finish() and what is made of them are called by one thread at a time, the
// pack stream's; cancel(), await_quiet() and settle() by any. A stream that says it is done may
// still be inside a call (CUDA's, once it has failed), so the last two wait for calls too.
// Allocates nothing after construction. Failure: finish() throws RunError mapping_truncated when a
// source shrank, and both what the executor throws; as a stream's task they fail the device. The
// refusal names the chunk that was finished when the file was found short; with the next one under
// way it may have been that one's read, so the chunk that met the end may be the one behind it.
// A failed device drops what its pack stream had queued, so that a chunk may stay begun: workers
// are at the mapping and the staging ring until settle() has returned.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

#include "base/deadline.h"
#include "contracts/block_layout.h"
#include "contracts/host_tensors.h"
#include "hot_path/pack_table.h"
#include "platform/clock.h"
#include "platform/executor.h"

namespace dlo::hot_path {

// One block that lies in mapped files: its runs, and the chunks in which it is staged (a group of
// one, chunk by chunk).
struct StagedBlock {
  PackTable table;
  contracts::ShardLayout shard;
};

// By ring and block.
using StagedSources = std::vector<std::vector<StagedBlock>>;

class ChunkPacker {
 public:
  // What a chunk is filled from and where to.
  struct Job {
    std::uint32_t ring = 0;
    std::uint32_t block = 0;
    std::uint32_t chunk = 0;
    ByteSpan destination;  // as long as the chunk
  };

  // `tensors` and `workers` outlive the packer, or its settle(); `workers` may be null: the pack
  // stream's thread then packs alone, in finish().
  ChunkPacker(StagedSources sources, const contracts::HostTensors& tensors,
              platform::Executor* workers);
  ~ChunkPacker() { settle(); }
  ChunkPacker(const ChunkPacker&) = delete;
  ChunkPacker& operator=(const ChunkPacker&) = delete;

  [[nodiscard]] const StagedSources& sources() const { return sources_; }
  // Workers other than the finishing thread: a chunk that is begun is packed before its finish.
  [[nodiscard]] bool works_ahead() const {
    return workers_ != nullptr && workers_->worker_count() > 1;
  }

  // Hands the job to the workers, without waiting for any. When it throws, the job is not begun.
  // Precondition: at most one other job is begun and not finished.
  void begin(const Job& job);
  // Helps with the job that was begun first of those that are not finished, and returns when it is
  // done. When it throws, the job is finished all the same. Precondition: there is one.
  void finish();
  // Finishes what a load that was cut short had begun, if it did.
  void finish_begun();
  // Begins the job, then finishes the one begun before it, also when the begin throws. When both
  // throw, the exception of the chunk before, which is the finish's, is the one that leaves.
  void begin_and_finish_before(const Job& job);

  // Jobs still to come return at once, and one that runs ends after the piece it is at.
  void cancel() noexcept { cancelled_.store(true); }
  // Cancels, and waits until no call of the stream is under way and no piece is being packed, as
  // none will be from then on: a call that comes later does nothing but the books. False past the
  // deadline, which a source that cannot be read may bring. After true, settle() waits for nothing
  // of the kind.
  [[nodiscard]] bool await_quiet(platform::Clock& clock, Deadline deadline);
  // Cancels, waits for a call that is under way, however long, and finishes what was begun: from
  // here on nothing is read or written for this packer, and its executor may go.
  void settle() noexcept;

 private:
  struct Begun {
    Job job;
    std::function<void(std::size_t)> pack_piece;  // made once: handing it out allocates nothing
    platform::Batch batch;
  };

  void finish_first();  // under the lock
  void pack_piece(const Job& job, std::size_t piece);

  StagedSources sources_;
  const contracts::HostTensors& tensors_;
  platform::Executor* workers_;
  std::mutex call_;  // held as long as a begin(), a finish() or settle() lasts
  std::array<Begun, 2> jobs_;
  std::uint64_t begun_ = 0;
  std::uint64_t finished_ = 0;
  std::atomic<std::uint32_t> packing_{0};
  std::atomic<bool> cancelled_{false};
};

}  // namespace dlo::hot_path
