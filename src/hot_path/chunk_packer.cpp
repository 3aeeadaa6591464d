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
constexpr Nanoseconds kQuietPoll = kMillisecond;

}  // namespace

ChunkPacker::ChunkPacker(StagedSources sources, const contracts::HostTensors& tensors,
                         platform::Executor* workers)
    : sources_(std::move(sources)), tensors_(tensors), workers_(workers) {
  for (const auto& ring : sources_) {
    for (const auto& block : ring) {
      require(block.shard.group_size() == 1 && block.table.bytes() == block.shard.padded_bytes(),
              "a staged block is whole on this rank");
    }
  }
  for (auto& begun : jobs_) {
    begun.pack_piece = [this, &begun](std::size_t piece) { pack_piece(begun.job, piece); };
  }
}

void ChunkPacker::begin(const Job& job) {
  require(begun_ - finished_ < jobs_.size(), "a chunk is begun while two are under way");
  auto& begun = jobs_[begun_ % jobs_.size()];
  const auto pieces = static_cast<std::size_t>(ceil_divide(job.destination.size(), kPieceBytes));
  begun.job = job;
  begun.batch = {&begun.pack_piece, cancelled_.load() ? 0 : pieces, {}};
  if (workers_ != nullptr && begun.batch.count > 0) {
    workers_->start(begun.batch);
  }
  ++begun_;
}

void ChunkPacker::finish() {
  require(finished_ < begun_, "a chunk is finished that was not begun");
  auto& begun = jobs_[finished_++ % jobs_.size()];
  if (workers_ != nullptr && begun.batch.count > 0) {
    workers_->finish(begun.batch);
  } else {
    begun.batch.run_below(begun.batch.count);
    begun.batch.rethrow();
  }
  if (!cancelled_.load() && !tensors_.intact()) {
    const auto& job = begun.job;
    throw RunError(contracts::truncated_refusal(
        tensors_, fmt::format("chunk {} of ring {} block {}", job.chunk, job.ring, job.block)));
  }
}

void ChunkPacker::finish_begun() {
  while (finished_ < begun_) {
    finish();
  }
}

bool ChunkPacker::await_quiet(platform::Clock& clock, Deadline deadline) {
  cancel();
  while (packing_.load() > 0) {
    if (deadline.expired(clock.now())) {
      return false;
    }
    clock.sleep(kQuietPoll);
  }
  return true;
}

void ChunkPacker::settle() noexcept {
  cancel();
  while (finished_ < begun_) {
    try {
      finish();
    } catch (...) {
      continue;  // nobody waits for this chunk any more
    }
  }
}

void ChunkPacker::pack_piece(const Job& job, std::size_t piece) {
  ++packing_;  // before the look at cancelled_: whoever cancels and then finds none has seen all
  if (!cancelled_.load()) {
    const auto& source = sources_[job.ring][job.block];
    const std::uint64_t begin = piece * kPieceBytes;
    const auto bytes = std::min(kPieceBytes, job.destination.size() - begin);
    source.table.fill(source.shard.chunks()[job.chunk].block_offset_bytes + begin,
                      job.destination.subspan(begin, bytes));
  }
  --packing_;
}

}  // namespace dlo::hot_path
