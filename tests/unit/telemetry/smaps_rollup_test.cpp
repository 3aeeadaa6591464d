// Goal: the figures are the kernel's, in bytes; a line that is missing or odd is absent, never 0.
// Method: a rollup as Linux 6 writes it, older and damaged ones, and the real file.
#include "telemetry/smaps_rollup.h"

#include <gtest/gtest.h>

#include "base/codes.h"
#include "platform/posix/posix_file_system.h"
#include "tests/support/memory_file_system.h"

namespace dlo::telemetry {
namespace {

constexpr const char* kRollup =
    "55596f8e9000-7ffd063a0000 ---p 00000000 00:00 0                          [rollup]\n"
    "Rss:                1764 kB\n"
    "Pss:                 186 kB\n"
    "Pss_Dirty:           112 kB\n"
    "Pss_Anon:            113 kB\n"
    "Pss_File:             74 kB\n"
    "Pss_Shmem:             0 kB\n"
    "Shared_Clean:       1612 kB\n"
    "Shared_Dirty:          0 kB\n"
    "Private_Clean:        40 kB\n"
    "Private_Dirty:       114 kB\n"
    "Locked:                0 kB\n";

TEST(ParseSmapsRollup, WholeFile_GivesEveryFigureInBytes) {
  const auto rollup = parse_smaps_rollup(kRollup);
  EXPECT_EQ(rollup.rss_bytes, 1764U * 1024);
  EXPECT_EQ(rollup.pss_bytes, 186U * 1024);
  EXPECT_EQ(rollup.private_dirty_bytes, 114U * 1024);
  EXPECT_EQ(rollup.shared_clean_bytes, 1612U * 1024);
  EXPECT_EQ(rollup.pss_anon_bytes, 113U * 1024);
  EXPECT_EQ(rollup.pss_file_bytes, 74U * 1024);
  EXPECT_EQ(rollup.pss_shmem_bytes, 0U);
}

TEST(ParseSmapsRollup, OlderKernel_LeavesItsLinesAbsent) {
  const auto rollup = parse_smaps_rollup("Rss: 8 kB\nPss: 4 kB");
  EXPECT_EQ(rollup.rss_bytes, 8192U);
  EXPECT_EQ(rollup.pss_bytes, 4096U);
  EXPECT_EQ(rollup.pss_anon_bytes, std::nullopt);
  EXPECT_EQ(rollup.private_dirty_bytes, std::nullopt);
}

TEST(ParseSmapsRollup, OddValues_AreAbsentNotZero) {
  for (const auto* text : {"Rss: kB\n", "Rss: -1 kB\n", "Rss: 1\n", "Rss: 1 MB\n", "Rss:\n",
                           "Rss: 18446744073709551615 kB\n", "Rss: 99999999999999999999 kB\n",
                           "rss: 1 kB\n", "Rss 1 kB\n", "", "\n\n", ":"}) {
    EXPECT_EQ(parse_smaps_rollup(text), SmapsRollup{}) << text;
  }
}

TEST(ReadSmapsRollup, WithoutTheFile_IsRefused) {
  const test_support::MemoryFileSystem files;
  const auto rollup = read_smaps_rollup(files);
  ASSERT_FALSE(rollup.ok());
  EXPECT_EQ(rollup.refusal().code, codes::kFileNotFound);
}

TEST(ReadSmapsRollup, FileOfAnotherSystem_IsParsed) {
  test_support::MemoryFileSystem files;
  files.put("/proc/self/smaps_rollup", kRollup);
  const auto rollup = read_smaps_rollup(files);
  ASSERT_TRUE(rollup.ok());
  EXPECT_EQ(*rollup, parse_smaps_rollup(kRollup));
}

TEST(ReadSmapsRollup, ThisProcess_HasMemory) {
  const platform::PosixFileSystem files;
  const auto rollup = read_smaps_rollup(files);
  if (!rollup.ok()) {
    GTEST_SKIP() << "no smaps_rollup here: " << rollup.refusal().message();
  }
  ASSERT_TRUE(rollup->rss_bytes.has_value());
  ASSERT_TRUE(rollup->pss_bytes.has_value());
  EXPECT_GT(*rollup->pss_bytes, 0U);
  EXPECT_LE(*rollup->pss_bytes, *rollup->rss_bytes);
}

}  // namespace
}  // namespace dlo::telemetry
