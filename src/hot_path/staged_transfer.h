// Owns: StagedTransfer: blocks that lie in mapped files reach their slots through a bounded ring of
// pinned staging chunks. Two events a chunk.
// Must not own: staging memory (backend), the mapping (host_weights), slots.
// The launching thread issues and never packs: a chunk is filled by the pack stream's thread and
// its workers (chunk_packer.h), which where it helps are handed chunk c + 1 of a block before chunk
// c is waited for. Packing waits for a chunk of the ring alone, never for the slot, so the next
// block is packed while its slot is still read.
// Pageable staging is the exception: an accelerator's runtime may read it when a copy is issued, so
// the launching thread waits for each chunk to be packed first.
// Failure and threading: as BlockTransfer; a file that shrank fails the device with
// mapping_truncated, and the chunk it names may be the one before (chunk_packer.h). With pageable
// staging load() throws RunError when its wait ends early.
//
// Deviates from vLLM-Omni: a ring of chunks packed by several threads, where the reference packs
// whole blocks into two host slots on the launching thread.
#pragma once

#include <memory>

#include "hot_path/block_transfer.h"
#include "hot_path/chunk_packer.h"

namespace dlo::hot_path {

// Chunk c of a block goes through staging chunk k, c + 1 through k + 1 mod K. The copy stream does
// the same in both forms:
//
//   copy  | wait free[slot] (first chunk)  wait packed[k]  H2D chunk  record staging_free[k]
//         | ... after the last chunk: record ready[slot]
//
// Plain, with fewer than three staging chunks or without workers beside the pack stream's thread:
//
//   pack  | for each c: wait staging_free[k]  begin c, finish c  record packed[k]
//
// Packing c waits for the copy of c - K, which is issued before it with any K: with two, chunk c is
// packed while c - 1 is copied; with one they take turns.
//
// Ahead, otherwise:
//
//   pack  | wait staging_free[k]  begin chunk 0
//         | for each c: wait staging_free[k+1]  begin c + 1, finish c  record packed[k]
//         |             (the last one: finish c  record packed[k])
//
// A begin is one host function with the finish behind it. So the end of c waits for the copy of
// c + 1 - K: with two staging chunks that is the one before, and packing and copying would take
// turns; with three, c is packed while c - 1 is copied. Without workers a begin packs nothing.
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

  // A chunk of a block, and the staging chunk that it goes through.
  struct ChunkPlace {
    std::uint32_t chunk;
    std::size_t index;
  };

  [[nodiscard]] static platform::OpLabel label_at(const BlockLoad& load, platform::Site site,
                                                  const ChunkPlace& at);
  // Lets the pack stream wait for the staging chunk; what may be begun then.
  [[nodiscard]] ChunkPacker::Job claim(const BlockLoad& load, const ChunkPlace& at);
  // Of the block's first chunk. Its label names none.
  void begin_first(const BlockLoad& load);
  // Begins the chunk and finishes it.
  void pack_plain(const BlockLoad& load, const ChunkPlace& at);
  // Begins the chunk behind this one, unless this is the last one, and finishes this one.
  void pack_ahead(const BlockLoad& load, const ChunkPlace& at, bool last);
  // Lets the copy stream wait for the chunk, and the host where it must.
  void await_packed(const StagingChunk& staging, const platform::OpLabel& label);

  platform::Device& device_;
  bool pinned_;
  Nanoseconds timeout_;
  std::shared_ptr<ChunkPacker> packer_;  // queued tasks keep it, past a stream that is stuck
  bool ahead_;                           // the form
  std::vector<StagingChunk> staging_;
  std::size_t next_ = 0;
};

}  // namespace dlo::hot_path
