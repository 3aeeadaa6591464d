#include "engine/pack_loop.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace dlo::engine {

using platform::OpLabel;
using platform::StreamKind;

namespace {

// What a packing thread takes at a time, and what is packed while the same amount is copied: two
// of them stay in the caches, where the copy finds them.
constexpr std::uint64_t kStripeBytes = kMiB / 2;
constexpr std::uint64_t kHalfBytes = 32 * kMiB;
// Not the hot path's site: the ledger counts that one.
const OpLabel kPackLabel{.site = platform::Site::kPlacement};

}  // namespace

PackLoop::PackLoop(CalibrationBench& bench, std::size_t thread_count)
    : bench_(bench),
      threads_(thread_count),
      copied_{bench.device().create_event(), bench.device().create_event()},
      half_bytes_(std::min(kHalfBytes, bench.block_bytes() / 2)) {}

Result<std::unique_ptr<PackLoop>> PackLoop::make(CalibrationBench& bench,
                                                 std::size_t thread_count) {
  std::unique_ptr<PackLoop> loop(new PackLoop(bench, thread_count));
  const auto bytes = bench.block_bytes();
  auto source = bench.device().allocate_pageable(bytes, platform::MemoryPurpose::kOther);
  if (!source.ok()) {
    return source.refusal();
  }
  loop->source_ = std::move(source).value();
  std::memset(loop->source_->span().data(), 1, bytes);  // its pages are there
  return loop;
}

Status PackLoop::part(std::size_t half, ConstByteSpan from, std::uint64_t at) {
  auto& device = bench_.device();
  const auto deadline = Deadline::after(device.clock().now(), bench_.seams().timeout);
  if (auto free = device.wait_host(copied_[half], deadline, kPackLabel); !free.ok()) {
    return free;
  }
  const auto to = bench_.host().subspan(half * half_bytes_, from.size());
  threads_.parallel_for(ceil_divide(from.size(), kStripeBytes), [&](std::size_t stripe) {
    const auto begin = stripe * kStripeBytes;
    std::memcpy(to.data() + begin, from.data() + begin,
                std::min(kStripeBytes, from.size() - begin));
  });
  device.copy_to_device(StreamKind::kCopy, bench_.block().subspan(at, from.size()), to, kPackLabel);
  device.record(copied_[half], StreamKind::kCopy, kPackLabel);
  return {};
}

Result<double> PackLoop::run_ms(std::size_t blocks) {
  auto& clock = bench_.device().clock();
  const ConstByteSpan source = source_->span();
  const Nanoseconds begin = clock.now();
  std::size_t half = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    for (std::uint64_t at = 0; at < source.size(); at += half_bytes_) {
      const auto bytes = std::min<std::uint64_t>(half_bytes_, source.size() - at);
      if (auto status = part(half, source.subspan(at, bytes), at); !status.ok()) {
        return status.refusal();
      }
      half = 1 - half;
    }
  }
  if (auto status = bench_.finish(); !status.ok()) {
    return status.refusal();
  }
  return static_cast<double>(clock.now() - begin) / static_cast<double>(kMillisecond);
}

}  // namespace dlo::engine
