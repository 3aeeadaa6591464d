// Owns: StagedTransfer: blocks that lie in mapped files reach their slots through a bounded ring of
// pinned staging chunks. Two events a chunk.
// Must not own: staging memory (backend), the mapping (host_weights), slots.
// The launching thread issues and never packs: a chunk is filled by the pack stream's thread and
// its workers (chunk_packer.h). Packing waits for a chunk of the ring alone, never for the slot, so
// the next block is packed while its slot is still read.
// Pageable staging is the exception: an accelerator's runtime may read it when a copy is issued, so
// the launching thread waits for each chunk to be packed first.
// Failure and threading: as BlockTransfer; a file that shrank fails the device with
// mapping_truncated. With pageable staging load() throws RunError when its wait ends early.
//
// Deviates from vLLM-Omni: a ring of chunks packed by several threads, where the reference packs
// whole blocks into two host slots on the launching thread.
#pragma once

#include <memory>

#include "hot_path/block_transfer.h"
#include "hot_path/chunk_packer.h"

namespace dlo::hot_path {

//   pack  | wait staging_free[k]  fill chunk -> staging k  record packed[k] | next chunk, k+1 mod K
//   copy  | wait free[slot] (first chunk)  wait packed[k]  H2D chunk  record staging_free[k]
//         | ... after the last chunk: record ready[slot]
// The chunks of the staging ring.
struct StagingRing {
  std::vector<ByteSpan> chunks;
  bool pinned = true;
  Nanoseconds timeout = 30 * kSecond;  // of a wait for pageable chunks
};

class StagedTransfer final : public BlockTransfer {
 public:
  // Creates two events a staging chunk. Preconditions: at least one chunk, each holds the largest
  // piece of any block.
  StagedTransfer(platform::Device& device, std::shared_ptr<ChunkPacker> packer,
                 const StagingRing& staging);
  // Packing that is still queued is dropped.
  ~StagedTransfer() override { packer_->cancel(); }
  StagedTransfer(const StagedTransfer&) = delete;
  StagedTransfer& operator=(const StagedTransfer&) = delete;

  void load(const BlockLoad& load) override;

 private:
  struct StagingChunk {
    ByteSpan span;
    platform::EventId packed;
    platform::EventId free;
  };

  // Lets the copy stream wait for the chunk, and the host where it must.
  void await_packed(const StagingChunk& staging, const platform::OpLabel& label);

  platform::Device& device_;
  bool pinned_;
  Nanoseconds timeout_;
  std::shared_ptr<ChunkPacker> packer_;  // queued tasks keep it, past a stream that is stuck
  std::vector<StagingChunk> staging_;
  std::size_t next_ = 0;
};

}  // namespace dlo::hot_path
