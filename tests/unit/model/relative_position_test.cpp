// Goal: relative positions fall into T5's buckets, before and behind a query, near and far.
// Method: values of transformers' rule for 32 buckets and a distance of 128, written out; the order
// of a table.
#include "model/text/relative_position.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace dlo::model {
namespace {

constexpr BucketRule kPublished{.buckets = 32, .max_distance = 128};

TEST(RelativePosition, Buckets_AreTheLibrarysOnBothSides) {
  const std::vector<std::pair<std::int64_t, std::int64_t>> expected = {
      {0, 0},   {1, 1},   {7, 7},   {8, 8},   {11, 8},   {12, 9},   {15, 9},
      {16, 10}, {22, 10}, {23, 11}, {31, 11}, {32, 12},  {45, 12},  {46, 13},
      {63, 13}, {64, 14}, {90, 14}, {91, 15}, {127, 15}, {128, 15}, {511, 15}};
  for (const auto& [away, bucket] : expected) {
    EXPECT_EQ(relative_position_bucket(-away, kPublished), bucket) << away << " before";
    EXPECT_EQ(relative_position_bucket(away, kPublished), away == 0 ? 0 : bucket + 16)
        << away << " behind";
  }
}

TEST(RelativePosition, Table_IsByQueryThenKey) {
  const auto table = position_buckets(3, kPublished);
  EXPECT_EQ(table, (std::vector<std::int64_t>{0, 17, 18, 1, 0, 17, 2, 1, 0}));
}

}  // namespace
}  // namespace dlo::model
