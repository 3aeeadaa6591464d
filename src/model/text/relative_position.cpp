#include "model/text/relative_position.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace dlo::model {

std::int64_t relative_position_bucket(std::int64_t distance, const BucketRule& rule) {
  const std::int64_t half = rule.buckets / 2;
  const std::int64_t exact = half / 2;
  const std::int64_t side = distance > 0 ? half : 0;
  const std::int64_t away = std::abs(distance);
  if (away < exact) {
    return side + away;
  }
  // In fp32 and in the library's order, for the result is cut off to a whole number.
  const float share = std::log(static_cast<float>(away) / static_cast<float>(exact)) /
                      static_cast<float>(std::log(static_cast<double>(rule.max_distance) /
                                                  static_cast<double>(exact)));
  const auto steps = static_cast<std::int64_t>(share * static_cast<float>(half - exact));
  return side + std::min(exact + steps, half - 1);
}

std::vector<std::int64_t> position_buckets(std::int64_t tokens, const BucketRule& rule) {
  std::vector<std::int64_t> buckets;
  buckets.reserve(static_cast<std::size_t>(tokens * tokens));
  for (std::int64_t query = 0; query < tokens; ++query) {
    for (std::int64_t key = 0; key < tokens; ++key) {
      buckets.push_back(relative_position_bucket(key - query, rule));
    }
  }
  return buckets;
}

}  // namespace dlo::model
