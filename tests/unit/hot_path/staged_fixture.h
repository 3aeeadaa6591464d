// Owns: what unit tests of a StagedTransfer share. StagedBlocks: blocks of bytes that "lie in
// mapped files", two runs each with padding behind them, their sources, and staging chunks.
// NotingExecutor: which threads packed. Must not own: devices or expectations.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "hot_path/staged_transfer.h"
#include "platform/cpu/thread_executor.h"
#include "tests/support/sound_tensors.h"

namespace dlo::test {

// Notes the threads that its tasks run on, and lets the caller help as ThreadExecutor does.
class NotingExecutor final : public platform::Executor {
 public:
  explicit NotingExecutor(std::size_t workers) : threads_(workers) {}
  [[nodiscard]] std::size_t worker_count() const override { return threads_.worker_count(); }
  void parallel_for(std::size_t count, const std::function<void(std::size_t)>& task) override {
    threads_.parallel_for(count, [&](std::size_t index) {
      {
        const std::lock_guard lock(mutex_);
        seen_.insert(std::this_thread::get_id());
      }
      task(index);
    });
  }
  [[nodiscard]] std::set<std::thread::id> seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }

 private:
  platform::ThreadExecutor threads_;
  std::mutex mutex_;
  std::set<std::thread::id> seen_;
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
  std::shared_ptr<hot_path::ChunkPacker> packer;

 private:
  static constexpr std::uint64_t kPadding = 100;

  std::vector<std::unique_ptr<std::vector<std::byte>>> files_;
  hot_path::StagedSources sources_;
  std::uint64_t chunk_bytes_;
  std::size_t chunk_count_;
  std::unique_ptr<platform::HostBuffer> staging_;
};

}  // namespace dlo::test
