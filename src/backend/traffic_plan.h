// Owns: the figures that a run is held against: bytes and calls of one forward and of the prime
// (I3), device and host bytes that this rank may own (I4).
// Must not own: measurements (the platform's books and the copy ledger), buffers.
// Plain values, computed once while the backend prepares and constant afterwards.
#pragma once

#include <cstdint>
#include <vector>

namespace dlo::backend {

// Traffic of hot-path sites alone (h2d, gather); placement at enable time has its own site.
struct Traffic {
  std::uint64_t h2d_calls = 0;
  std::uint64_t h2d_bytes = 0;
  std::uint64_t gather_calls = 0;
  std::uint64_t gather_bytes = 0;  // received from peers: (W-1)/W of the padded bytes

  Traffic& operator+=(const Traffic& other);
  // `count` times this traffic.
  [[nodiscard]] Traffic times(std::uint64_t count) const;
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

struct MemoryPlan {
  std::uint32_t slot_count = 0;
  std::uint64_t slot_bytes = 0;  // largest padded streamed block
  std::uint32_t input_slot_count = 0;
  std::uint64_t input_slot_bytes = 0;      // largest piece; 0 without AllGather
  std::uint64_t resident_bytes = 0;        // resident blocks, those of a stage included
  std::uint64_t stage_resident_bytes = 0;  // of these, what comes with begin_request()
  std::uint64_t non_block_bytes = 0;       // non-block children
  std::uint64_t host_store_bytes = 0;      // this rank's copy or shard of the offloaded blocks
  std::uint64_t staging_chunk_count = 0;
  std::uint64_t staging_chunk_bytes = 0;  // 0 unless blocks stay in mapped files
  bool host_pinned = false;               // host store and staging

  [[nodiscard]] std::uint64_t staging_bytes() const {
    return staging_chunk_count * staging_chunk_bytes;
  }
  // What invariant I4 allows on the device.
  [[nodiscard]] std::uint64_t device_limit_bytes() const;
  // Pinned bytes that the mode promises, exactly.
  [[nodiscard]] std::uint64_t pinned_bytes() const {
    return host_pinned ? host_store_bytes + staging_bytes() : 0;
  }
  friend bool operator==(const MemoryPlan&, const MemoryPlan&) = default;
};

struct TrafficPlan {
  std::vector<Traffic> per_forward;  // by DiT: one walk of its ring; zero when resident
  Traffic stage_entry;               // leading blocks, whenever begin_request() loads them
  Traffic prime;                     // once, at enable: the first chain fills its slots
};

}  // namespace dlo::backend
