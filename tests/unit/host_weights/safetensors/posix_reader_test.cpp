// Goal: on the real file system a file that is cut under a live mapping is refused by name instead
// of ending the process, and what a writer leaves on disk is one complete file.
// Method: temporary folders; truncation with std::filesystem, then a read of every byte.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "base/sha256.h"
#include "host_weights/safetensors/checkpoint_index.h"
#include "host_weights/safetensors/inspect.h"
#include "host_weights/safetensors/writer.h"
#include "platform/cpu/thread_executor.h"
#include "platform/posix/posix_file_system.h"
#include "tests/unit/host_weights/safetensors/bytes_of_files.h"

namespace dlo::host_weights {
namespace {

// Several pages, so that a cut removes whole ones.
constexpr std::int64_t kTensorBytes = 1 << 20;

class PosixSafetensors : public testing::Test {
 protected:
  PosixSafetensors() {
    std::string pattern = testing::TempDir() + "dlo_safetensors_XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ / "model.safetensors";
  }
  ~PosixSafetensors() override { std::filesystem::remove_all(folder_); }

  void write_model() {
    const std::vector<PlannedTensor> tensors = {{"a", DType::kU8, {kTensorBytes}}};
    auto writer = SafetensorsWriter::create(files_, path_, *plan_file(tensors, {}));
    ASSERT_TRUE(writer.ok()) << writer.refusal().message();
    const std::string value(static_cast<std::size_t>(kTensorBytes), 'v');
    ASSERT_TRUE(writer->write(0, 0, test::as_bytes(value)).ok());
    ASSERT_TRUE(writer->finish().ok());
  }

  std::vector<std::string> names() const { return *files_.list(folder_); }

  platform::PosixFileSystem files_;
  platform::Path folder_;
  platform::Path path_;
};

TEST_F(PosixSafetensors, WrittenFile_ReadsBack) {
  write_model();
  EXPECT_EQ(names(), std::vector<std::string>{"model.safetensors"});
  const auto file = SafetensorsFile::open(files_, path_);
  ASSERT_TRUE(file.ok()) << file.refusal().message();
  EXPECT_EQ(file->header().data_start_bytes % 8, 0U);
  EXPECT_EQ(sha256_hex(file->view("a")->bytes),
            sha256_hex(std::string_view(std::string(static_cast<std::size_t>(kTensorBytes), 'v'))));
  EXPECT_TRUE(file->check_intact().ok());
}

TEST_F(PosixSafetensors, AbandonedWriter_LeavesNothing) {
  {
    const std::vector<PlannedTensor> tensors = {{"a", DType::kU8, {4}}};
    auto writer = SafetensorsWriter::create(files_, path_, *plan_file(tensors, {}));
    ASSERT_TRUE(writer.ok());
    EXPECT_EQ(names().size(), 1U);
  }
  EXPECT_TRUE(names().empty());
}

TEST_F(PosixSafetensors, FileCutUnderALiveMapping_IsMappingTruncated) {
  write_model();
  const auto opened = ComponentCheckpoint::open(files_, folder_);
  ASSERT_TRUE(opened.ok());
  std::filesystem::resize_file(path_, 4096);
  // The bytes are zeros where pages are gone; what counts is that reading them is survived.
  static_cast<void>(sha256_hex(opened->view("a")->bytes));
  const auto status = opened->check_intact();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.refusal().code, "mapping_truncated");
  EXPECT_EQ(status.refusal().where, path_.string());
}

TEST_F(PosixSafetensors, CutFile_IsRefusedAtOpenForEveryCut) {
  write_model();
  const auto whole = std::filesystem::file_size(path_);
  for (const std::uint64_t cut : {1UL, 2UL, 4096UL, whole - 100, whole - 8, whole}) {
    std::filesystem::resize_file(path_, whole - cut);
    const auto file = SafetensorsFile::open(files_, path_);
    ASSERT_FALSE(file.ok()) << cut;
    EXPECT_EQ(file.refusal().code, "safetensors_invalid");
    std::filesystem::resize_file(path_, whole);
  }
}

TEST_F(PosixSafetensors, SymlinkLoopAndMissingFile_HaveCodes) {
  std::filesystem::create_symlink(path_, folder_ / "other.safetensors");
  std::filesystem::create_symlink(folder_ / "other.safetensors", path_);
  EXPECT_EQ(SafetensorsFile::open(files_, path_).refusal().code, "file_unreadable");
  EXPECT_EQ(SafetensorsFile::open(files_, folder_ / "none").refusal().code, "file_not_found");
  EXPECT_EQ(SafetensorsFile::open(files_, folder_).refusal().code, "file_unreadable");
}

TEST_F(PosixSafetensors, InspectOfAPipe_DoesNotWaitForItsWriter) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  platform::ThreadExecutor executor(1);
  EXPECT_EQ(inspect(files_, executor, path_).refusal().code, "file_unreadable");
}

}  // namespace
}  // namespace dlo::host_weights
