// Goal: a folder appears whole or not at all, and a place that cannot be written is refused before
// anything is. Method: a real temporary folder for what the kernel decides, a file system in memory
// for full disks.
#include "host_weights/seeded_checkpoint/staged_directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/codes.h"
#include "platform/posix/posix_file_system.h"
#include "tests/support/memory_file_system.h"

namespace dlo::host_weights {
namespace {

class StagedDirectoryTest : public testing::Test {
 protected:
  StagedDirectoryTest() {
    std::string name = (std::filesystem::temp_directory_path() / "dlo_staged_XXXXXX").string();
    root_ = ::mkdtemp(name.data());
  }
  ~StagedDirectoryTest() override { std::filesystem::remove_all(root_); }

  std::string code(const platform::Path& target) {
    const auto staged = StagedDirectory::open(files_, target, 0);
    return staged ? "" : staged.refusal().code;
  }
  void put(const platform::Path& path) {
    ASSERT_TRUE(platform::write_text_atomically(files_, path, "x").ok());
  }

  platform::PosixFileSystem files_;
  std::filesystem::path root_;
};

TEST_F(StagedDirectoryTest, Published_AppearsUnderItsName) {
  auto staged = StagedDirectory::open(files_, root_ / "deep" / "out", 1);
  ASSERT_TRUE(staged.ok()) << staged.refusal().message();
  put(staged->path() / "file");
  EXPECT_FALSE(std::filesystem::exists(root_ / "deep" / "out"));
  ASSERT_TRUE(staged->publish().ok());
  EXPECT_TRUE(std::filesystem::exists(root_ / "deep" / "out" / "file"));
  EXPECT_FALSE(std::filesystem::exists(staged->path()));
}

TEST_F(StagedDirectoryTest, Dropped_LeavesNothing) {
  {
    auto staged = StagedDirectory::open(files_, root_ / "out", 1);
    ASSERT_TRUE(staged.ok());
    put(staged->path() / "file");
  }
  EXPECT_TRUE(std::filesystem::is_empty(root_));
}

TEST_F(StagedDirectoryTest, EmptyFolder_IsReplaced) {
  std::filesystem::create_directory(root_ / "out");
  auto staged = StagedDirectory::open(files_, root_ / "out" / "", 1);
  ASSERT_TRUE(staged.ok()) << staged.refusal().message();
  put(staged->path() / "file");
  ASSERT_TRUE(staged->publish().ok());
  EXPECT_TRUE(std::filesystem::exists(root_ / "out" / "file"));
}

TEST_F(StagedDirectoryTest, FolderWithSomethingInIt_IsRefusedAndUntouched) {
  std::filesystem::create_directory(root_ / "out");
  put(root_ / "out" / "mine");
  const auto staged = StagedDirectory::open(files_, root_ / "out", 1);
  ASSERT_FALSE(staged.ok());
  EXPECT_EQ(staged.refusal().code, codes::kFileUnwritable);
  EXPECT_NE(staged.refusal().what.find("'mine'"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(root_ / "out" / "mine"));
}

TEST_F(StagedDirectoryTest, FileInThePlace_IsRefused) {
  put(root_ / "out");
  EXPECT_EQ(code(root_ / "out"), codes::kFileUnwritable);
}

TEST_F(StagedDirectoryTest, ParentThatIsAFile_IsRefused) {
  put(root_ / "file");
  EXPECT_EQ(code(root_ / "file" / "out"), codes::kFileUnwritable);
}

TEST_F(StagedDirectoryTest, PlaceWithoutAName_IsRefused) {
  EXPECT_EQ(code(""), codes::kFileUnwritable);
  EXPECT_EQ(code("/"), codes::kFileUnwritable);
  EXPECT_EQ(code(root_ / "."), codes::kFileUnwritable);
  EXPECT_EQ(code(root_ / ".."), codes::kFileUnwritable);
}

TEST_F(StagedDirectoryTest, LeftoverOfAKilledWriter_IsCleared) {
  std::filesystem::create_directory(root_ / ".out.dlo-partial");
  put(root_ / ".out.dlo-partial" / "old");
  auto staged = StagedDirectory::open(files_, root_ / "out", 1);
  ASSERT_TRUE(staged.ok());
  ASSERT_TRUE(staged->publish().ok());
  EXPECT_TRUE(std::filesystem::is_empty(root_ / "out"));
}

class FullDisk : public test_support::MemoryFileSystem {
 public:
  [[nodiscard]] Result<std::uint64_t> free_bytes(const platform::Path&) const override {
    return std::uint64_t{1000};
  }
};

TEST(StagedDirectorySpace, TooLittle_IsRefusedWithBothFigures) {
  FullDisk files;
  EXPECT_TRUE(StagedDirectory::open(files, "/data/out", 1000).ok());
  const auto staged = StagedDirectory::open(files, "/data/out", 1001);
  ASSERT_FALSE(staged.ok());
  EXPECT_EQ(staged.refusal().code, codes::kFileUnwritable);
  EXPECT_NE(staged.refusal().what.find("1000 B"), std::string::npos);
  EXPECT_TRUE(files.all_files().empty());
}

}  // namespace
}  // namespace dlo::host_weights
