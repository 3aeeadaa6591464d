#include "hot_path/chunk_packer.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"

namespace dlo::hot_path {

namespace {

// What one worker takes at a time: large enough that a hand-over costs nothing beside it, small
// enough that the last ones of a chunk end together.
constexpr std::uint64_t kPieceBytes = kMiB / 2;
constexpr Nanoseconds kQuietPoll = kMillisecond;

// Counts a piece for as long as it is being packed, also when that throws.
class Counted {
 public:
  explicit Counted(std::atomic<std::uint32_t>& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::atomic<std::uint32_t>& count_;
};

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
  const std::lock_guard lock(call_);
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
  const std::lock_guard lock(call_);
  finish_first();
}

void ChunkPacker::finish_first() {
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
  const std::lock_guard lock(call_);
  while (finished_ < begun_) {
    finish_first();
  }
}

void ChunkPacker::begin_and_finish_before(const Job& job) {
  std::exception_ptr refused;
  try {
    begin(job);
  } catch (...) {
    refused = std::current_exception();
  }
  finish();
  if (refused) {
    std::rethrow_exception(refused);
  }
}

bool ChunkPacker::await_quiet(platform::Clock& clock, Deadline deadline) {
  cancel();  // before the look at the lock: a call that takes it from now on sees it
  const auto is_quiet = [this] {
    const std::unique_lock lock(call_, std::try_to_lock);
    return lock.owns_lock() && packing_.load() == 0;
  };
  while (!is_quiet()) {
    if (deadline.expired(clock.now())) {
      return false;
    }
    clock.sleep(kQuietPoll);
  }
  return true;
}

void ChunkPacker::settle() noexcept {
  cancel();
  const std::lock_guard lock(call_);
  while (finished_ < begun_) {
    try {
      finish_first();
    } catch (...) {
      continue;  // nobody waits for this chunk any more
    }
  }
}

void ChunkPacker::pack_piece(const Job& job, std::size_t piece) {
  // Before the look at cancelled_: whoever cancels and then finds none has seen all.
  const Counted counted(packing_);
  if (!cancelled_.load()) {
    const auto& source = sources_[job.ring][job.block];
    const std::uint64_t begin = piece * kPieceBytes;
    const auto bytes = std::min(kPieceBytes, job.destination.size() - begin);
    source.table.fill(source.shard.chunks()[job.chunk].block_offset_bytes + begin,
                      job.destination.subspan(begin, bytes));
  }
}

}  // namespace dlo::hot_path
