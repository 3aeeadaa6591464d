// Goal: a pack table covers its block exactly once, padding as zeros, whatever range is asked for.
// Method: small tables by hand, and every range of one against a plain copy of the block.
#include "hot_path/pack_table.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace dlo::hot_path {
namespace {

std::vector<std::byte> counted(std::size_t bytes) {
  std::vector<std::byte> source(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    source[i] = static_cast<std::byte>(i + 1);
  }
  return source;
}

TEST(PackTable, GapsBetweenAndBehindRuns_AreZeros) {
  const auto source = counted(30);
  const PackTable table({{20, source.data(), 10}, {4, source.data() + 20, 6}}, 40);
  EXPECT_EQ(table.bytes(), 40U);
  std::vector<std::byte> block(40, std::byte{0xEE});
  table.fill(0, block);
  for (std::size_t i = 0; i < block.size(); ++i) {
    const auto wanted = i >= 20 && i < 30  ? source[i - 20]
                        : i >= 4 && i < 10 ? source[20 + i - 4]
                                           : std::byte{0};
    EXPECT_EQ(block[i], wanted) << i;
  }
}

TEST(PackTable, EveryRange_IsThatPartOfTheBlock) {
  const auto source = counted(64);
  const PackTable table(
      {{0, source.data() + 40, 7}, {9, source.data(), 20}, {33, source.data(), 5}}, 48);
  std::vector<std::byte> whole(48);
  table.fill(0, whole);
  for (std::size_t from = 0; from <= whole.size(); ++from) {
    for (std::size_t to = from; to <= whole.size(); ++to) {
      std::vector<std::byte> part(to - from, std::byte{0xEE});
      table.fill(from, part);
      ASSERT_TRUE(
          std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(from)))
          << from << " to " << to;
    }
  }
}

TEST(PackTable, RunsBackToBackInTheFileToo_AreOne) {
  const auto source = counted(30);
  const PackTable table({{0, source.data(), 10}, {10, source.data() + 10, 10}, {20, nullptr, 2}},
                        24);
  ASSERT_EQ(table.runs().size(), 2U);
  EXPECT_EQ(table.runs()[0].bytes, 20U);
  EXPECT_EQ(table.runs()[1].source, nullptr);
}

TEST(PackTable, OverlapOrRunBehindTheEnd_IsALogicError) {
  const auto source = counted(30);
  EXPECT_THROW(PackTable({{0, source.data(), 10}, {9, source.data(), 10}}, 40), LogicError);
  EXPECT_THROW(PackTable({{35, source.data(), 10}}, 40), LogicError);
  const PackTable table({{0, source.data(), 10}}, 16);
  std::vector<std::byte> part(8);
  EXPECT_THROW(table.fill(9, part), LogicError);
}

TEST(PackTable, BlockWithoutBytes_HasNoRuns) {
  EXPECT_TRUE(PackTable({}, 0).runs().empty());
}

}  // namespace
}  // namespace dlo::hot_path
