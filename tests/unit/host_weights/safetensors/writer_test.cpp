// Goal: what was planned and written is what a reader sees; a failed or abandoned file leaves
// nothing under its name; impossible plans are refused.
// Method: RapidCheck over drawn tensor lists for the round trip; the in-memory file system fails
// every changing call in turn.
#include "host_weights/safetensors/writer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "host_weights/safetensors/reader.h"
#include "platform/cpu/thread_executor.h"
#include "tests/support/memory_file_system.h"
#include "tests/unit/host_weights/safetensors/bytes_of_files.h"

namespace dlo::host_weights {
namespace {

using test::as_bytes;
using test_support::MemoryFileSystem;

constexpr auto kPath = "/out/m.safetensors";

std::string value_of(std::size_t tensor, std::uint64_t bytes) {
  std::string value(bytes, '\0');
  for (std::size_t i = 0; i < value.size(); ++i) {
    value[i] = static_cast<char>((i * 31 + tensor * 7) & 0xFFU);
  }
  return value;
}

// Writes every tensor in pieces of `piece` bytes; stops at the first refusal.
Status write_all(platform::FileSystem& files, const WritePlan& plan, std::size_t piece) {
  auto writer = SafetensorsWriter::create(files, kPath, plan);
  if (!writer) {
    return writer.refusal();
  }
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const auto value = value_of(i, plan.tensors[i].size_bytes());
    for (std::size_t at = 0; at < value.size(); at += piece) {
      const auto part = std::string_view(value).substr(at, piece);
      if (auto status = writer->write(i, at, as_bytes(part)); !status) {
        return status;
      }
    }
  }
  return writer->finish();
}

WritePlan small_plan() {
  const std::vector<PlannedTensor> tensors = {{"a", DType::kF32, {2, 3}}, {"b", DType::kU8, {5}}};
  return *plan_file(tensors, {{"format", "pt"}});
}

rc::Gen<PlannedTensor> any_tensor() {
  const auto dtypes = rc::gen::element(DType::kF32, DType::kBF16, DType::kU8, DType::kI64,
                                       DType::kF8E4M3, DType::kBool);
  const auto extents = rc::gen::resize(4, rc::gen::container<Shape>(rc::gen::inRange(0, 5)));
  return rc::gen::build<PlannedTensor>(
      rc::gen::set(&PlannedTensor::name, rc::gen::string<std::string>()),
      rc::gen::set(&PlannedTensor::dtype, dtypes), rc::gen::set(&PlannedTensor::shape, extents));
}

RC_GTEST_PROP(SafetensorsWriter, AnyTensors_ReadBackAsPlanned, ()) {
  auto tensors = *rc::gen::container<std::vector<PlannedTensor>>(any_tensor());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    // Drawn bytes are seldom UTF-8, and names must differ.
    for (char& character : tensors[i].name) {
      character = static_cast<char>(character & 0x7F);
    }
    tensors[i].name += "/" + std::to_string(i);
  }
  const auto plan = plan_file(tensors, {{"k\n\"", "v\t"}});
  RC_ASSERT(plan.ok());
  RC_ASSERT(plan->head.size() % 8 == 0U);
  MemoryFileSystem files;
  files.put_directory("/out");
  RC_ASSERT(write_all(files, *plan, *rc::gen::inRange<std::size_t>(1, 64)).ok());
  RC_ASSERT(files.all_files() == std::vector<std::string>{kPath});
  RC_ASSERT(files.contents(kPath)->size() == plan->file_bytes());

  const auto file = SafetensorsFile::open(files, kPath);
  RC_ASSERT(file.ok());
  RC_ASSERT(file->header().tensors.size() == tensors.size());
  RC_ASSERT(file->header().metadata == (FileMetadata{{"k\n\"", "v\t"}}));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto view = *file->view(tensors[i].name);
    RC_ASSERT(view.dtype == tensors[i].dtype);
    RC_ASSERT(view.shape == tensors[i].shape);
    const auto value = value_of(i, view.bytes.size());
    RC_ASSERT(std::equal(view.bytes.begin(), view.bytes.end(), as_bytes(value).begin()));
  }
}

TEST(SafetensorsWriter, SeveralThreads_GiveTheSameFile) {
  MemoryFileSystem files;
  files.put_directory("/out");
  std::vector<PlannedTensor> tensors;
  for (std::size_t i = 0; i < 8; ++i) {
    tensors.push_back({"t" + std::to_string(i), DType::kU8, {1000}});
  }
  const auto plan = *plan_file(tensors, {});
  auto writer = SafetensorsWriter::create(files, kPath, plan);
  ASSERT_TRUE(writer.ok());
  platform::ThreadExecutor executor(4);
  executor.parallel_for(plan.tensors.size(), [&](std::size_t i) {
    EXPECT_TRUE(writer->write(i, 0, as_bytes(value_of(i, 1000))).ok());
  });
  ASSERT_TRUE(writer->finish().ok());
  const auto parallel = *files.contents(kPath);
  ASSERT_TRUE(write_all(files, plan, 1000).ok());
  EXPECT_EQ(parallel, *files.contents(kPath));
}

TEST(SafetensorsWriter, AnyCallThatFails_LeavesNoFile) {
  const auto plan = small_plan();
  MemoryFileSystem counting;
  counting.put_directory("/out");
  const auto set_up = counting.change_count();
  ASSERT_TRUE(write_all(counting, plan, 7).ok());
  // The last change is the sync of the folder, after the file has become visible.
  const auto until_visible = counting.change_count() - set_up - 1;
  ASSERT_GT(until_visible, 6U);
  for (std::size_t n = 1; n <= until_visible; ++n) {
    MemoryFileSystem files;
    files.put_directory("/out");
    files.fail_change(n);
    const auto status = write_all(files, plan, 7);
    ASSERT_FALSE(status.ok()) << "change " << n;
    EXPECT_EQ(status.refusal().code, "file_unwritable");
    EXPECT_TRUE(files.all_files().empty()) << "change " << n;
  }
}

TEST(SafetensorsWriter, FailedRewrite_KeepsTheOldFile) {
  MemoryFileSystem files;
  files.put(kPath, "old");
  files.fail_change(3);
  EXPECT_FALSE(write_all(files, small_plan(), 7).ok());
  EXPECT_EQ(files.contents(kPath), "old");
  EXPECT_EQ(files.all_files().size(), 1U);
}

TEST(SafetensorsWriter, FinishBeforeAllBytes_IsAProgrammerError) {
  MemoryFileSystem files;
  files.put_directory("/out");
  {
    auto writer = SafetensorsWriter::create(files, kPath, small_plan());
    ASSERT_TRUE(writer.ok());
    EXPECT_THROW(static_cast<void>(writer->finish().ok()), LogicError);
    EXPECT_THROW(static_cast<void>(writer->write(0, 20, as_bytes("12345")).ok()), LogicError);
  }
  EXPECT_TRUE(files.all_files().empty());
}

TEST(SafetensorsWriter, MissingFolder_IsRefused) {
  MemoryFileSystem files;
  EXPECT_FALSE(write_all(files, small_plan(), 7).ok());
}

TEST(SafetensorsPlan, ImpossibleTensors_AreRefused) {
  const auto code = [](std::vector<PlannedTensor> tensors, FileMetadata metadata = {}) {
    const auto plan = plan_file(tensors, metadata);
    return plan ? "accept" : plan.refusal().code;
  };
  constexpr std::int64_t kHuge = std::int64_t{1} << 62U;
  EXPECT_EQ(code({{"a", DType::kU8, {1}}, {"a", DType::kU8, {1}}}), "invalid_value");
  EXPECT_EQ(code({{"__metadata__", DType::kU8, {1}}}), "invalid_value");
  EXPECT_EQ(code({{"\xFF", DType::kU8, {1}}}), "invalid_value");
  EXPECT_EQ(code({{"a", DType::kU8, {-1}}}), "invalid_value");
  EXPECT_EQ(code({{"a", DType::kU8, {kHuge, 4}}}), "invalid_value");
  EXPECT_EQ(code({{"a", DType::kF64, {kHuge}}}), "invalid_value");
  EXPECT_EQ(code({{"a", DType::kF4, {3}}}), "invalid_value");
  EXPECT_EQ(code({}, {{"k", "\x80"}}), "invalid_value");
  EXPECT_EQ(code({{"a", DType::kF4, {4}}, {"", DType::kU8, {}}}), "accept");
}

}  // namespace
}  // namespace dlo::host_weights
