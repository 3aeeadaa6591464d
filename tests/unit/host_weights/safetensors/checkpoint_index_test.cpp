// Goal: a component's folder opens with exactly the tensors of its index, and each way in which it
// can be broken has a code of its own, found before any tensor is read.
// Method: folders in the in-memory file system, one fault each.
#include "host_weights/safetensors/checkpoint_index.h"

#include <gtest/gtest.h>

#include "tests/support/memory_file_system.h"
#include "tests/unit/host_weights/safetensors/bytes_of_files.h"

namespace dlo::host_weights {
namespace {

using test::file_of_texts;
using test_support::MemoryFileSystem;

constexpr auto kIndex = "/t/model.safetensors.index.json";

std::string index_of(const std::string& weight_map, const std::string& total_size = "9") {
  return R"({"metadata":{"total_size":)" + total_size + R"(},"weight_map":)" + weight_map + "}";
}

// Three shards: a, b in the first, c in the second, d in the third; 9 bytes of tensors.
class CheckpointIndex : public testing::Test {
 protected:
  CheckpointIndex() {
    files_.put("/t/1.safetensors", file_of_texts({{"a", "AA"}, {"b", "BBB"}}));
    files_.put("/t/2.safetensors", file_of_texts({{"c", "CCC"}}));
    files_.put("/t/3.safetensors", file_of_texts({{"d", "D"}}));
    put_index(
        R"({"a":"1.safetensors","b":"1.safetensors","c":"2.safetensors","d":"3.safetensors"})");
  }

  void put_index(const std::string& weight_map, const std::string& total_size = "9") {
    files_.put(kIndex, index_of(weight_map, total_size));
  }

  Result<ComponentCheckpoint> open(const char* path = "/t") {
    return ComponentCheckpoint::open(files_, path);
  }

  // The refusal of opening; a success is a failure of the test.
  Refusal refusal(const char* path = "/t") {
    auto opened = open(path);
    EXPECT_FALSE(opened.ok());
    return opened.ok() ? Refusal{} : opened.refusal();
  }

  MemoryFileSystem files_;
};

TEST_F(CheckpointIndex, CompleteFolder_HasEveryTensor) {
  const auto opened = open();
  ASSERT_TRUE(opened.ok()) << opened.refusal().message();
  ASSERT_EQ(opened->tensors().size(), 4U);
  EXPECT_EQ(opened->files().size(), 3U);
  EXPECT_TRUE(opened->notes().empty());
  EXPECT_EQ(opened->view("c")->bytes[0], std::byte{'C'});
  EXPECT_EQ(opened->record(*opened->find("b")).size_bytes(), 3U);
  EXPECT_EQ(opened->view("e").refusal().code, "missing_tensor");
}

TEST_F(CheckpointIndex, IndexFileAsPath_OpensItsFolder) {
  const auto opened = open(kIndex);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->tensors().size(), 4U);
}

TEST_F(CheckpointIndex, MissingShards_AreAllNamed) {
  ASSERT_TRUE(files_.remove_file("/t/2.safetensors").ok());
  ASSERT_TRUE(files_.remove_file("/t/3.safetensors").ok());
  const auto no = refusal();
  EXPECT_EQ(no.code, "missing_shard");
  EXPECT_NE(no.what.find("2.safetensors, 3.safetensors"), std::string::npos);
}

TEST_F(CheckpointIndex, ShardThatCannotBeRead_IsRefused) {
  files_.set_unreadable("/t/2.safetensors");
  EXPECT_EQ(refusal().code, "file_unreadable");
}

TEST_F(CheckpointIndex, ShardThatIsADirectory_IsRefused) {
  ASSERT_TRUE(files_.remove_file("/t/2.safetensors").ok());
  files_.put_directory("/t/2.safetensors");
  EXPECT_EQ(refusal().code, "file_unreadable");
}

TEST_F(CheckpointIndex, SymlinkLoop_IsRefused) {
  ASSERT_TRUE(files_.remove_file("/t/2.safetensors").ok());
  files_.put_symlink("/t/2.safetensors", "x");
  files_.put_symlink("/t/x", "2.safetensors");
  EXPECT_EQ(refusal().code, "file_unreadable");
  EXPECT_NE(refusal().what.find("ELOOP"), std::string::npos);
}

TEST_F(CheckpointIndex, DanglingSymlink_IsAMissingShard) {
  ASSERT_TRUE(files_.remove_file("/t/2.safetensors").ok());
  files_.put_symlink("/t/2.safetensors", "../blobs/gone");
  EXPECT_EQ(refusal().code, "missing_shard");
}

TEST_F(CheckpointIndex, SymlinkedShard_IsRead) {
  files_.put("/blobs/sha", file_of_texts({{"c", "CCC"}}));
  ASSERT_TRUE(files_.remove_file("/t/2.safetensors").ok());
  files_.put_symlink("/t/2.safetensors", "../blobs/sha");
  EXPECT_TRUE(open().ok());
}

TEST_F(CheckpointIndex, EmptyOrTruncatedShard_IsInvalidSafetensors) {
  files_.truncate("/t/2.safetensors", 0);
  EXPECT_EQ(refusal().code, "safetensors_invalid");
  const auto whole = file_of_texts({{"c", "CCC"}});
  for (const auto cut : {std::size_t{1}, std::size_t{3}, whole.size() - 8}) {
    files_.put("/t/2.safetensors", whole.substr(0, whole.size() - cut));
    EXPECT_EQ(refusal().code, "safetensors_invalid");
    EXPECT_EQ(refusal().where, "/t/2.safetensors");
  }
}

TEST_F(CheckpointIndex, TensorAbsentFromItsShard_IsNamedWithItsPlace) {
  put_index(R"({"a":"1.safetensors","b":"2.safetensors","c":"2.safetensors","d":"3.safetensors"})");
  const auto no = refusal();
  EXPECT_EQ(no.code, "missing_tensor");
  EXPECT_NE(no.what.find("\"b\" in 2.safetensors"), std::string::npos);
  EXPECT_NE(no.what.find("it lies in 1.safetensors"), std::string::npos);
}

TEST_F(CheckpointIndex, TensorInTwoShards_IsADuplicate) {
  files_.put("/t/3.safetensors", file_of_texts({{"d", "D"}, {"a", "aa"}}));
  EXPECT_EQ(refusal().code, "duplicate_tensor");
}

TEST_F(CheckpointIndex, TensorThatTheIndexDoesNotList_IsRefused) {
  files_.put("/t/3.safetensors", file_of_texts({{"d", "D"}, {"e", "E"}}));
  EXPECT_EQ(refusal().code, "index_invalid");
}

TEST_F(CheckpointIndex, TwoIndices_AreAmbiguous) {
  files_.put("/t/model.fp16.safetensors.index.json", index_of(R"({"a":"1.safetensors"})"));
  EXPECT_EQ(refusal().code, "ambiguous_index");
}

TEST_F(CheckpointIndex, StrayFile_IsIgnoredWithANote) {
  files_.put("/t/other.safetensors", file_of_texts({{"a", "zz"}}));
  const auto opened = open();
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->view("a")->bytes[0], std::byte{'A'});
  ASSERT_EQ(opened->notes().size(), 1U);
  EXPECT_NE(opened->notes()[0].find("other.safetensors"), std::string::npos);
}

TEST_F(CheckpointIndex, WrongTotalSize_IsANote) {
  put_index(R"({"a":"1.safetensors","b":"1.safetensors","c":"2.safetensors","d":"3.safetensors"})",
            "10");
  const auto opened = open();
  ASSERT_TRUE(opened.ok());
  ASSERT_EQ(opened->notes().size(), 1U);
  EXPECT_NE(opened->notes()[0].find("counts 10 bytes"), std::string::npos);
}

TEST_F(CheckpointIndex, BrokenIndex_IsNoReasonToLookForFiles) {
  const auto code = [&](const std::string& text) {
    files_.put(kIndex, text);
    return refusal().code;
  };
  for (const auto* text : {
           "",
           "{",
           "[]",
           "null",
           "{}",
           R"({"weight_map":null})",
           R"({"weight_map":{}})",
           R"({"weight_map":[["a","1.safetensors"]]})",
           R"({"weight_map":{"a":1}})",
           R"({"weight_map":{"a":null}})",
           R"({"weight_map":{"a":{"file":"1.safetensors","dtype":"F32"}}})",
           R"({"weight_map":{"a":""}})",
           R"({"weight_map":{"a":".."}})",
           R"({"weight_map":{"a":"../t/1.safetensors"}})",
           R"({"weight_map":{"a":"/t/1.safetensors"}})",
           R"({"weight_map":{"a":"1.safetensors","a":"2.safetensors"}})",
           R"({"weight_map":{"a":"1.safetensors"},"weight_map":{"a":"1.safetensors"}})",
           R"({"metadata":{"total_size":"9"},"weight_map":{"a":"1.safetensors"}})",
           R"({"metadata":{"total_size":-9},"weight_map":{"a":"1.safetensors"}})",
           R"({"metadata":{"total_size":10e7145},"weight_map":{"a":"1.safetensors"}})",
           "{\"weight_map\":{\"\xFF\":\"1.safetensors\"}}",
       }) {
    EXPECT_EQ(code(text), "index_invalid") << text;
  }
}

TEST_F(CheckpointIndex, DeeplyNestedIndex_IsRefusedWithoutAStackOverflow) {
  files_.put(kIndex, std::string(100'000, '['));
  EXPECT_EQ(refusal().code, "index_invalid");
  files_.put(kIndex, std::string(100'000, '[') + std::string(100'000, ']'));
  EXPECT_EQ(refusal().code, "index_invalid");
}

TEST_F(CheckpointIndex, FloatTotalSize_IsRead) {
  put_index(R"({"a":"1.safetensors","b":"1.safetensors","c":"2.safetensors","d":"3.safetensors"})",
            "9.0");
  const auto opened = open();
  ASSERT_TRUE(opened.ok());
  EXPECT_TRUE(opened->notes().empty());
}

TEST(CheckpointFolder, OneFileWithoutIndex_IsTheComponent) {
  MemoryFileSystem files;
  files.put("/t/model.safetensors", file_of_texts({{"a", "A"}}));
  files.put("/t/._model.safetensors", "left by an archiver");
  files.put("/t/config.json", "{}");
  const auto opened = ComponentCheckpoint::open(files, "/t");
  ASSERT_TRUE(opened.ok()) << opened.refusal().message();
  EXPECT_EQ(opened->tensors().size(), 1U);
}

TEST(CheckpointFolder, FolderWithoutUsableWeights_SaysWhy) {
  MemoryFileSystem files;
  files.put_directory("/empty");
  files.put("/config/config.json", "{}");
  files.put("/pickle/pytorch_model.bin", "PK");
  files.put("/two/a.safetensors", file_of_texts({{"a", "A"}}));
  files.put("/two/b.safetensors", file_of_texts({{"b", "B"}}));
  files.put("/locked/a.safetensors", file_of_texts({{"a", "A"}}));
  files.set_unreadable("/locked");
  const auto code = [&](const char* path) {
    return ComponentCheckpoint::open(files, path).refusal().code;
  };
  EXPECT_EQ(code("/empty"), "empty_checkpoint");
  EXPECT_EQ(code("/config"), "empty_checkpoint");
  EXPECT_EQ(code("/pickle"), "unsupported_format");
  EXPECT_EQ(code("/pickle/pytorch_model.bin"), "unsupported_format");
  EXPECT_EQ(code("/two"), "ambiguous_index");
  EXPECT_EQ(code("/locked"), "file_unreadable");
  EXPECT_EQ(code("/none"), "file_not_found");
}

TEST(CheckpointFolder, RepeatedNameInAFile_IsANote) {
  MemoryFileSystem files;
  files.put("/m.safetensors",
            test::file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                          R"("a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}})",
                          "x"));
  const auto opened = ComponentCheckpoint::open(files, "/m.safetensors");
  ASSERT_TRUE(opened.ok());
  ASSERT_EQ(opened->notes().size(), 1U);
  EXPECT_NE(opened->notes()[0].find("more than once"), std::string::npos);
}

TEST(CheckpointFolder, FileThatShrinks_IsNoLongerIntact) {
  MemoryFileSystem files;
  files.put("/m.safetensors", file_of_texts({{"a", "ABCDEFGH"}}));
  const auto opened = ComponentCheckpoint::open(files, "/m.safetensors");
  ASSERT_TRUE(opened.ok());
  EXPECT_TRUE(opened->check_intact().ok());
  files.truncate("/m.safetensors", 60);
  EXPECT_EQ(opened->check_intact().refusal().code, "mapping_truncated");
}

}  // namespace
}  // namespace dlo::host_weights
