// Owns: the bidirectional bucket rule of T5's relative positions and the table of buckets that an
// attention over a row of tokens looks its bias up by.
// Must not own: the bias itself (a weight). Free of torch; pure functions.
// Source: transformers UMT5Attention._relative_position_bucket, models.md 4.1 "Text".
#pragma once

#include <cstdint>
#include <vector>

namespace dlo::model {

struct BucketRule {
  std::int64_t buckets = 0;       // a multiple of 4
  std::int64_t max_distance = 0;  // above buckets / 4; farther positions share the last bucket
};

// The bucket of a key that stands `distance` behind its query (negative: before it). Half of the
// buckets are for keys behind; of each half the first half is exact, the other logarithmic.
[[nodiscard]] std::int64_t relative_position_bucket(std::int64_t distance, const BucketRule& rule);

// [tokens, tokens] by query, then key.
[[nodiscard]] std::vector<std::int64_t> position_buckets(std::int64_t tokens,
                                                         const BucketRule& rule);

}  // namespace dlo::model
