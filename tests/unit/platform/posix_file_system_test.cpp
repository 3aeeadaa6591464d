// Goal: files are mapped, read, written and renamed as the seam says, and every failure is a
// refusal with errno's name and the path. Method: a folder of its own per test, a limit on file
// sizes for the full disk, named pipes and symlinks.
#include "platform/posix/posix_file_system.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/codes.h"

namespace dlo::platform {
namespace {

ConstByteSpan bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(ConstByteSpan bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

class PosixFileSystemTest : public testing::Test {
 protected:
  PosixFileSystemTest() {
    std::string name = (std::filesystem::temp_directory_path() / "dlo_files_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~PosixFileSystemTest() override { std::filesystem::remove_all(folder_); }

  Path write(const std::string& name, const std::string& text) {
    auto file = files_.create(folder_ / name);
    EXPECT_TRUE(file.ok());
    EXPECT_TRUE((*file)->write_at(0, bytes_of(text)).ok());
    EXPECT_TRUE((*file)->close().ok());
    return folder_ / name;
  }

  PosixFileSystem files_;
  Path folder_;
};

template <typename Outcome>
void expect_refusal(const Outcome& outcome, std::string_view code, std::string_view what,
                    const Path& path) {
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.refusal().code, code);
  EXPECT_NE(outcome.refusal().what.find(what), std::string::npos) << outcome.refusal().message();
  EXPECT_EQ(outcome.refusal().where, path.string());
  EXPECT_FALSE(outcome.refusal().action.empty());
}

TEST_F(PosixFileSystemTest, Mapping_ShowsTheFileAndItsFacts) {
  const Path path = write("a", "hello");
  const auto mapped = files_.map_read_only(path);
  ASSERT_TRUE(mapped.ok()) << mapped.refusal().message();
  EXPECT_EQ(text_of((*mapped)->bytes()), "hello");
  EXPECT_EQ((*mapped)->info().bytes, 5U);
  EXPECT_EQ((*mapped)->info().inode, files_.stat(path)->inode);
  EXPECT_FALSE((*mapped)->truncated());
}

TEST_F(PosixFileSystemTest, EmptyFile_MapsToNoBytes) {
  const auto mapped = files_.map_read_only(write("empty", ""));
  ASSERT_TRUE(mapped.ok());
  EXPECT_TRUE((*mapped)->bytes().empty());
  EXPECT_FALSE((*mapped)->truncated());
}

TEST_F(PosixFileSystemTest, MissingFile_IsRefusedByNameEverywhere) {
  const Path path = folder_ / "none";
  expect_refusal(files_.map_read_only(path), codes::kFileNotFound, "ENOENT", path);
  expect_refusal(files_.read_text(path, 10), codes::kFileNotFound, "ENOENT", path);
  expect_refusal(files_.stat(path), codes::kFileNotFound, "ENOENT", path);
  expect_refusal(files_.list(path), codes::kFileNotFound, "ENOENT", path);
  expect_refusal(files_.remove_file(path), codes::kFileNotFound, "ENOENT", path);
  expect_refusal(files_.rename(path, folder_ / "b"), codes::kFileNotFound, "ENOENT", path);
  EXPECT_TRUE(files_.remove_tree(path).ok());
}

TEST_F(PosixFileSystemTest, DirectoryOrPipe_IsNotMapped) {
  expect_refusal(files_.map_read_only(folder_), codes::kFileUnreadable, "not a regular file",
                 folder_);
  const Path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_refusal(files_.read_text(pipe, 10), codes::kFileUnreadable, "not a regular file", pipe);
}

TEST_F(PosixFileSystemTest, ReadText_RefusesAboveTheLimit) {
  const Path path = write("text", "12345");
  EXPECT_EQ(*files_.read_text(path, 5), "12345");
  expect_refusal(files_.read_text(path, 4), codes::kFileUnreadable, "larger", path);
  EXPECT_TRUE(files_.read_text("/proc/self/status", kMiB).ok()) << "a file that tells length 0";
}

TEST_F(PosixFileSystemTest, Create_RefusesWhatExistsAndNeverFollowsLinks) {
  const Path path = write("a", "old");
  expect_refusal(files_.create(path), codes::kFileUnwritable, "EEXIST", path);
  std::filesystem::create_symlink(folder_ / "target", folder_ / "link");
  expect_refusal(files_.create(folder_ / "link"), codes::kFileUnwritable, "EEXIST",
                 folder_ / "link");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "target"));
}

TEST_F(PosixFileSystemTest, WriteAt_FillsDisjointRangesInAnyOrder) {
  auto file = files_.create(folder_ / "parts");
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE((*file)->write_at(3, bytes_of("def")).ok());
  EXPECT_TRUE((*file)->write_at(0, bytes_of("abc")).ok());
  EXPECT_TRUE((*file)->sync().ok());
  EXPECT_TRUE((*file)->close().ok());
  EXPECT_TRUE((*file)->close().ok()) << "closing twice is no error";
  EXPECT_EQ(*files_.read_text(folder_ / "parts", 100), "abcdef");
  struct stat found = {};
  ASSERT_EQ(::stat((folder_ / "parts").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777 & 0600, 0600U);
}

// A child process, for limits and the disposition of SIGXFSZ stay with the process.
TEST_F(PosixFileSystemTest, FullDisk_IsARefusalAndNotASignal) {
  const auto write_beyond_limit = [this] {
    const rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto file = files_.create(folder_ / "big");
    const Status status = (*file)->write_at(0, bytes_of(std::string(10'000, 'x')));
    const Status atomic = write_text_atomically(files_, folder_ / "text", std::string(10'000, 'x'));
    const bool refused = !status.ok() && status.refusal().code == codes::kFileUnwritable &&
                         status.refusal().what.find("EFBIG") != std::string::npos && !atomic.ok() &&
                         *files_.list(folder_) == std::vector<std::string>{"big"};
    ::_exit(refused ? 0 : 1);
  };
  EXPECT_EXIT(write_beyond_limit(), testing::ExitedWithCode(0), "");
}

TEST_F(PosixFileSystemTest, UnwritableFolder_IsRefusedByName) {
  const Path path = "/proc/none";
  expect_refusal(files_.create(path), codes::kFileNotFound, "ENOENT", path);
  expect_refusal(files_.make_directories("/proc/x/y"), codes::kFileNotFound, "ENOENT", "/proc/x/y");
}

TEST_F(PosixFileSystemTest, List_IsSortedBytewise) {
  write("b", "");
  write("B", "");
  write("a", "");
  EXPECT_EQ(*files_.list(folder_), (std::vector<std::string>{"B", "a", "b"}));
}

TEST_F(PosixFileSystemTest, Link_SaysItsTargetWhetherItIsThereOrNot) {
  std::filesystem::create_symlink("none", folder_ / "link");
  EXPECT_EQ(*files_.read_link(folder_ / "link"), Path("none"));
  const Path target = folder_ / std::string(200, 'x') / std::string(200, 'y');
  std::filesystem::create_symlink(target, folder_ / "long");
  EXPECT_EQ(*files_.read_link(folder_ / "long"), target);
  const Path plain = write("plain", "");
  expect_refusal(files_.read_link(plain), codes::kFileUnreadable, "EINVAL", plain);
  expect_refusal(files_.read_link(folder_ / "gone"), codes::kFileNotFound, "ENOENT",
                 folder_ / "gone");
}

TEST_F(PosixFileSystemTest, RemoveTree_UnlinksLinksWithoutFollowing) {
  const Path kept = write("kept", "x");
  ASSERT_TRUE(files_.make_directories(folder_ / "tree/deep").ok());
  std::filesystem::create_symlink(kept, folder_ / "tree/deep/link");
  std::filesystem::create_directory_symlink(folder_, folder_ / "tree/up");
  EXPECT_TRUE(files_.remove_tree(folder_ / "tree").ok());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "tree"));
  EXPECT_TRUE(std::filesystem::exists(kept));
}

TEST_F(PosixFileSystemTest, Directories_SyncAndTellFreeSpace) {
  EXPECT_TRUE(files_.sync_directory(folder_).ok());
  ASSERT_TRUE(files_.free_bytes(folder_).ok());
  EXPECT_GT(*files_.free_bytes(folder_), 0U);
  expect_refusal(files_.sync_directory(folder_ / "no"), codes::kFileNotFound, "ENOENT",
                 folder_ / "no");
}

TEST_F(PosixFileSystemTest, WriteTextAtomically_ReplacesAndLeavesNothing) {
  const Path path = folder_ / "text";
  ASSERT_TRUE(write_text_atomically(files_, path, "one").ok());
  write("text.tmp0", "left over from a crash");
  ASSERT_TRUE(write_text_atomically(files_, path, "two").ok());
  EXPECT_EQ(*files_.read_text(path, 100), "two");
  EXPECT_EQ(*files_.list(folder_), (std::vector<std::string>{"text", "text.tmp0"}));
}

}  // namespace
}  // namespace dlo::platform
