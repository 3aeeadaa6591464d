// Owns: ChunkPacker, which fills staging chunks from the mapped sources of blocks, on the pack
// stream's thread and with the help of an executor's workers.
// Must not own: staging memory (backend), the order of chunks (staged_transfer.h), the mapping.
// Threading: pack() is called by one thread at a time, the pack stream's; cancel() by any.
// Allocates nothing after construction. Failure: pack() throws RunError mapping_truncated when a
// source shrank under it, or what the executor throws; as a stream's task it thereby fails the
// device.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "contracts/block_layout.h"
#include "contracts/host_tensors.h"
#include "hot_path/pack_table.h"
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

  // `tensors` and `workers` outlive every call of pack(); `workers` may be null: the pack
  // stream's thread then packs alone.
  ChunkPacker(StagedSources sources, const contracts::HostTensors& tensors,
              platform::Executor* workers);
  ChunkPacker(const ChunkPacker&) = delete;
  ChunkPacker& operator=(const ChunkPacker&) = delete;

  [[nodiscard]] const StagedSources& sources() const { return sources_; }

  void pack(const Job& job);
  // Jobs still to come return at once, and one that runs ends after the piece it is at. What they
  // would read may go once the pack stream is idle, not before.
  void cancel() noexcept { cancelled_.store(true); }

 private:
  void pack_piece(std::size_t piece) const;

  StagedSources sources_;
  const contracts::HostTensors& tensors_;
  platform::Executor* workers_;
  std::function<void(std::size_t)> piece_task_;  // made once: handing it out allocates nothing
  Job job_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace dlo::hot_path
