// Goal: I11: between prime() and the end of the ring nothing is allocated.
// Method: operator new counts; a recording device whose log is preallocated; whole walks with
// refills, wrap-around, group-first repair and skipped blocks must read zero.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/unit/hot_path/ring_fixture.h"

namespace {

std::atomic<std::uint64_t> allocation_count{0};

void* counted(std::size_t bytes) {
  ++allocation_count;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) {
    return memory;
  }
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) {
  return counted(bytes);
}
void* operator new[](std::size_t bytes) {
  return counted(bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace dlo::hot_path {
namespace {

using test::FixtureOptions;
using test::RingFixture;

std::uint64_t allocations_of(RingFixture& fixture) {
  const auto whole = test::in_order(5);
  const auto other = test::in_order(3);
  const std::vector<std::uint32_t> skipping = {0, 2, 3, 4};
  const auto before = allocation_count.load();
  fixture.ring().prime();
  for (int forward = 0; forward < 3; ++forward) {
    fixture.walk(whole);
    fixture.walk(other, 1);
    fixture.walk(skipping);
  }
  const auto retired = fixture.ring().retire({});
  const auto count = allocation_count.load() - before;
  EXPECT_TRUE(retired.ok());
  return count;
}

TEST(HotPathAllocation, CountingOperatorNew_SeesAnAllocation) {
  const auto before = allocation_count.load();
  static_cast<void>(std::make_unique<int>(1));
  EXPECT_GT(allocation_count.load(), before);
}

TEST(HotPathAllocation, WalksByRankLocal_AllocateNothing) {
  RingFixture fixture(
      FixtureOptions{.rings = {{512, 512, 2048, 512, 512}, {256, 256, 256}}, .depth = 2});
  EXPECT_EQ(allocations_of(fixture), 0U);
}

TEST(HotPathAllocation, WalksByAllGather_AllocateNothing) {
  RingFixture fixture(FixtureOptions{.rings = {{512, 512, 2048, 512, 512}, {256, 256, 256}},
                                     .depth = 2,
                                     .group_size = 2,
                                     .chunk_bytes = 256});
  EXPECT_EQ(allocations_of(fixture), 0U);
}

}  // namespace
}  // namespace dlo::hot_path
