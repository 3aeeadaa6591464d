// Owns: the text of a *.safetensors.index.json: which tensor lies in which shard file.
// Must not own: whether the files agree with it (checkpoint_index.h).
// Threading: pure function. Failure: index_invalid for text that is no index: broken JSON, repeated
// keys, wrong types, shard names that leave the folder.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dlo::host_weights {

// Longest index text that is read: some 100,000 tensors. Bounds what a hostile one can allocate.
inline constexpr std::uint64_t kIndexLimitBytes = 16'000'000;

struct WeightMap {
  std::map<std::string, std::string> shard_of;    // file name by tensor name; never empty
  std::optional<std::uint64_t> total_size_bytes;  // bytes of all tensors, as the index says
};

// `where` names the index file in refusals.
[[nodiscard]] Result<WeightMap> parse_weight_map(const std::string& text, std::string_view where);

}  // namespace dlo::host_weights
