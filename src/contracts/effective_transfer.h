// Owns: EffectiveTransfer: what this rank really does, beside what was asked for, with a stable
// code and a sentence for every downgrade. Reports print it as it stands.
// Must not own: the decision; the backend makes it from validated configuration and topology.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlo::contracts {

enum class Transfer : std::uint8_t { kResident, kRankLocal, kStaged, kAllGather };
enum class Backing : std::uint8_t { kOrdinary, kCheckpointMmap };

[[nodiscard]] std::string_view transfer_name(Transfer transfer);  // "resident", "staged", ...
[[nodiscard]] std::string_view backing_name(Backing backing);     // "checkpoint_mmap", ...

struct Downgrade {
  std::string code;    // stable, base/codes.h
  std::string reason;  // one sentence

  friend bool operator==(const Downgrade&, const Downgrade&) = default;
};

struct EffectiveTransfer {
  Transfer transfer = Transfer::kResident;
  Backing backing = Backing::kOrdinary;
  bool pinned = false;           // host side is pinned memory
  std::uint32_t group_size = 1;  // ranks that share one copy of the weights
  std::uint32_t prefetch_depth = 0;
  std::uint64_t chunk_bytes = 0;  // per rank and chunk; 0 = whole block
  std::uint32_t streamed_block_count = 0;
  std::uint32_t resident_block_count = 0;
  std::vector<Downgrade> downgrades;

  friend bool operator==(const EffectiveTransfer&, const EffectiveTransfer&) = default;
};

}  // namespace dlo::contracts
