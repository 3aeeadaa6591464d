#include "hot_path/chunk_packer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"

namespace dlo::hot_path {

namespace {

// What one worker takes at a time: large enough that a hand-over costs nothing beside it, small
// enough that the last ones of a chunk end together.
constexpr std::uint64_t kPieceBytes = kMiB / 2;

}  // namespace

ChunkPacker::ChunkPacker(StagedSources sources, const contracts::HostTensors& tensors,
                         platform::Executor* workers)
    : sources_(std::move(sources)),
      tensors_(tensors),
      workers_(workers),
      piece_task_([this](std::size_t piece) { pack_piece(piece); }) {
  for (const auto& ring : sources_) {
    for (const auto& block : ring) {
      require(block.shard.group_size() == 1 && block.table.bytes() == block.shard.padded_bytes(),
              "a staged block is whole on this rank");
    }
  }
}

void ChunkPacker::pack(const Job& job) {
  if (cancelled_.load()) {
    return;
  }
  job_ = job;
  const auto pieces = static_cast<std::size_t>(ceil_divide(job.destination.size(), kPieceBytes));
  if (workers_ != nullptr) {
    workers_->parallel_for(pieces, piece_task_);
  } else {
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      pack_piece(piece);
    }
  }
  if (!cancelled_.load() && !tensors_.intact()) {
    throw RunError(contracts::truncated_refusal(
        tensors_, fmt::format("chunk {} of ring {} block {}", job.chunk, job.ring, job.block)));
  }
}

void ChunkPacker::pack_piece(std::size_t piece) const {
  if (cancelled_.load()) {
    return;
  }
  const auto& source = sources_[job_.ring][job_.block];
  const std::uint64_t begin = piece * kPieceBytes;
  const auto bytes = std::min(kPieceBytes, job_.destination.size() - begin);
  source.table.fill(source.shard.chunks()[job_.chunk].block_offset_bytes + begin,
                    job_.destination.subspan(begin, bytes));
}

}  // namespace dlo::hot_path
