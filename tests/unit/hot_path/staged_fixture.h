// Owns: what unit tests of a StagedTransfer share. StagedBlocks: blocks of bytes that "lie in
// mapped files", two runs each with padding behind them, their sources, and staging chunks.
// NotingExecutor: which threads packed, and how many pieces. Must not own: devices or expectations.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "hot_path/staged_transfer.h"
#include "platform/cpu/thread_executor.h"
#include "tests/support/sound_tensors.h"

namespace dlo::test {

// Notes the threads that its tasks run on and how many have ended, and lets the caller help as
// ThreadExecutor does.
class NotingExecutor final : public platform::Executor {
 public:
  explicit NotingExecutor(std::size_t workers) : threads_(workers) {}
  [[nodiscard]] std::size_t worker_count() const override { return threads_.worker_count(); }
  void start(platform::Batch& batch) override {
    const std::lock_guard lock(mutex_);
    auto& noted = noted_[&batch];
    noted.task = [this, &task = *batch.task](std::size_t index) {
      note_thread();
      task(index);
      ended_.fetch_add(1);
    };
    noted.batch = {&noted.task, batch.count, {}};
    threads_.start(noted.batch);
  }
  void finish(platform::Batch& batch) override {
    threads_.finish(noted_of(batch));
    const std::lock_guard lock(mutex_);
    noted_.erase(&batch);
  }
  [[nodiscard]] std::set<std::thread::id> seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  [[nodiscard]] std::size_t ended() const { return ended_.load(); }

 private:
  struct Noted {
    std::function<void(std::size_t)> task;
    platform::Batch batch;
  };

  void note_thread() {
    const std::lock_guard lock(mutex_);
    seen_.insert(std::this_thread::get_id());
  }
  [[nodiscard]] platform::Batch& noted_of(const platform::Batch& batch) {
    const std::lock_guard lock(mutex_);
    return noted_.at(&batch).batch;
  }

  std::mutex mutex_;
  std::map<const platform::Batch*, Noted> noted_;
  std::set<std::thread::id> seen_;
  std::atomic<std::size_t> ended_{0};
  platform::ThreadExecutor threads_;
};

class StagedBlocks {
 public:
  // Blocks of those sizes (multiples of 256), the last 100 bytes of each padding.
  StagedBlocks(const std::vector<std::uint64_t>& block_bytes, std::uint64_t chunk_bytes,
               std::size_t chunk_count)
      : chunk_bytes_(chunk_bytes), chunk_count_(chunk_count) {
    auto& blocks = sources_.emplace_back();
    for (std::size_t b = 0; b < block_bytes.size(); ++b) {
      const auto bytes = block_bytes[b];
      auto& file = *files_.emplace_back(std::make_unique<std::vector<std::byte>>(bytes));
      for (std::uint64_t i = 0; i < bytes; ++i) {
        file[i] = static_cast<std::byte>(i * 7 + b + 1);
      }
      // The second half of the block comes first in its file.
      const auto half = bytes / 2;
      std::vector<hot_path::PackRun> runs;
      if (bytes > kPadding) {
        runs = {{0, file.data() + half, half}, {half, file.data(), half - kPadding}};
      }
      blocks.push_back({hot_path::PackTable(std::move(runs), bytes),
                        contracts::ShardLayout(bytes, 1, chunk_bytes)});
    }
  }

  // With a staging ring of the device's memory.
  [[nodiscard]] std::unique_ptr<hot_path::StagedTransfer> make_transfer(platform::Device& device,
                                                                        platform::Executor* workers,
                                                                        bool pinned = true) {
    constexpr auto kPurpose = platform::MemoryPurpose::kStaging;
    const auto bytes = chunk_bytes_ * chunk_count_;
    staging_ = (pinned ? device.allocate_pinned(bytes, kPurpose)
                       : device.allocate_pageable(bytes, kPurpose))
                   .value();
    hot_path::StagingRing ring{{}, pinned};
    for (std::size_t c = 0; c < chunk_count_; ++c) {
      ring.chunks.push_back(staging_->span().subspan(c * chunk_bytes_, chunk_bytes_));
    }
    packer = std::make_shared<hot_path::ChunkPacker>(sources_, tensors, workers);
    return std::make_unique<hot_path::StagedTransfer>(device, packer, ring);
  }

  // What the slot must hold.
  [[nodiscard]] std::vector<std::byte> expected(std::size_t block) const {
    const auto& file = *files_[block];
    std::vector<std::byte> bytes(file.size());
    const auto half = file.size() / 2;
    std::copy(file.begin() + static_cast<std::ptrdiff_t>(half), file.end(), bytes.begin());
    std::copy(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(half - kPadding),
              bytes.begin() + static_cast<std::ptrdiff_t>(half));
    return bytes;
  }

  SoundTensors tensors;

 private:
  static constexpr std::uint64_t kPadding = 100;

  std::vector<std::unique_ptr<std::vector<std::byte>>> files_;
  hot_path::StagedSources sources_;
  std::uint64_t chunk_bytes_;
  std::size_t chunk_count_;
  std::unique_ptr<platform::HostBuffer> staging_;

 public:
  // Goes first: what a failed load left begun is at the files and the staging. Workers that one may
  // have been left to outlive it.
  std::shared_ptr<hot_path::ChunkPacker> packer;
};

}  // namespace dlo::test
