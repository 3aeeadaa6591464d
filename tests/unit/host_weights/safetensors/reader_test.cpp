// Goal: views give exactly the bytes of their tensor; files that cannot be read, are no safetensors
// or shrink under the mapping end in a refusal with its own code.
// Method: files in the in-memory file system; the real one is covered by posix_reader_test.cpp.
#include "host_weights/safetensors/reader.h"

#include <gtest/gtest.h>

#include "tests/support/memory_file_system.h"
#include "tests/unit/host_weights/safetensors/bytes_of_files.h"

namespace dlo::host_weights {
namespace {

using test::as_bytes;
using test::file_of_texts;

std::string text_of(const TensorView& view) {
  return {reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size()};
}

TEST(SafetensorsReader, View_IsTheTensorsBytes) {
  test_support::MemoryFileSystem files;
  files.put("/m.safetensors", file_of_texts({{"b", "bytes"}, {"a", "A"}, {"empty", ""}}));
  const auto file = SafetensorsFile::open(files, "/m.safetensors");
  ASSERT_TRUE(file.ok()) << file.refusal().message();
  EXPECT_EQ(text_of(*file->view("b")), "bytes");
  EXPECT_EQ(text_of(*file->view("a")), "A");
  EXPECT_EQ(file->view("b")->shape, Shape{5});
  EXPECT_EQ(text_of(*file->view("empty")), "");
  EXPECT_TRUE(file->check_intact().ok());
}

TEST(SafetensorsReader, UnknownName_IsMissingTensor) {
  test_support::MemoryFileSystem files;
  files.put("/m.safetensors", file_of_texts({{"a", "A"}}));
  const auto file = SafetensorsFile::open(files, "/m.safetensors");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->find("aa"), nullptr);
  EXPECT_EQ(file->view("").refusal().code, "missing_tensor");
}

TEST(SafetensorsReader, UnusableFile_IsRefusedWithItsPath) {
  test_support::MemoryFileSystem files;
  files.put("/empty", "");
  files.put("/locked", file_of_texts({{"a", "A"}}));
  files.set_unreadable("/locked");
  files.put_directory("/folder");
  const auto code = [&](const char* path) {
    const auto file = SafetensorsFile::open(files, path);
    EXPECT_EQ(file.refusal().where, path);
    return file.refusal().code;
  };
  EXPECT_EQ(code("/none"), "file_not_found");
  EXPECT_EQ(code("/locked"), "file_unreadable");
  EXPECT_EQ(code("/folder"), "file_unreadable");
  EXPECT_EQ(code("/empty"), "safetensors_invalid");
}

TEST(SafetensorsReader, FileThatShrinks_IsNoLongerIntact) {
  test_support::MemoryFileSystem files;
  const auto bytes = file_of_texts({{"a", "0123456789"}});
  files.put("/m.safetensors", bytes);
  const auto file = SafetensorsFile::open(files, "/m.safetensors");
  ASSERT_TRUE(file.ok());
  files.truncate("/m.safetensors", bytes.size() - 4);
  EXPECT_EQ(text_of(*file->view("a")).substr(0, 6), "012345");
  EXPECT_EQ(file->check_intact().refusal().code, "mapping_truncated");
}

}  // namespace
}  // namespace dlo::host_weights
