// Goal: a source resolves to the files that behaviour.md 2.1 says, in natural order, and every
// folder that it cannot be sure about is refused with its own code. Method: folders in memory.
#include "host_weights/component_source.h"

#include <gtest/gtest.h>

#include "base/codes.h"
#include "tests/support/checkpoint_builder.h"
#include "tests/support/memory_file_system.h"

namespace dlo::host_weights {
namespace {

using test_support::drawn_tensor;
using test_support::MemoryFileSystem;
using test_support::write_safetensors;

class ComponentSourceTest : public testing::Test {
 protected:
  void put_file(const std::string& name, const std::string& tensor) {
    write_safetensors(files_, "/model/transformer/" + name,
                      {drawn_tensor(tensor, DType::kF32, {2, 2})});
  }
  Result<SourceTensors> open(std::vector<std::string> patterns = {}) {
    return SourceTensors::open(files_, {"/model", "transformer", "transformer.", patterns});
  }
  std::string code(const Result<SourceTensors>& opened) {
    return opened ? "" : opened.refusal().code;
  }

  MemoryFileSystem files_;
};

TEST_F(ComponentSourceTest, OneFile_IsFoundByKey) {
  put_file("diffusion_pytorch_model.safetensors", "a.weight");
  const auto opened = open();
  ASSERT_TRUE(opened.ok()) << opened.refusal().message();
  ASSERT_NE(opened->find("a.weight"), nullptr);
  EXPECT_EQ(opened->find("a.weight")->view().bytes.size(), 16U);
  EXPECT_EQ(opened->find("b.weight"), nullptr);
  EXPECT_TRUE(opened->check_intact().ok());
}

TEST_F(ComponentSourceTest, PathOfAFile_NeedsNoSubfolder) {
  put_file("x.safetensors", "a");
  const auto opened = SourceTensors::open(files_, {"/model/transformer/x.safetensors", "", "", {}});
  ASSERT_TRUE(opened.ok()) << opened.refusal().message();
  EXPECT_NE(opened->find("a"), nullptr);
}

TEST_F(ComponentSourceTest, SeveralFilesWithoutIndex_AreAllTakenInNaturalOrder) {
  for (const char* name : {"part-10.safetensors", "part-9.safetensors", "part-1.safetensors"}) {
    put_file(name, std::string("in ") + name);
  }
  const auto opened = open();
  ASSERT_TRUE(opened.ok()) << opened.refusal().message();
  std::vector<std::string> names;
  for (const auto& path : opened->file_paths()) {
    names.push_back(path.filename().string());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"part-1.safetensors", "part-9.safetensors",
                                             "part-10.safetensors"}));
  EXPECT_EQ(opened->tensors().size(), 3U);
  EXPECT_EQ(opened->find("in part-10.safetensors")->file_rank, 2U);
}

TEST_F(ComponentSourceTest, FileThatTheIndexDoesNotName_IsLeftOut) {
  put_file("m-1.safetensors", "a");
  put_file("m-2.safetensors", "b");
  files_.put("/model/transformer/m.safetensors.index.json",
             R"({"metadata":{"total_size":16},"weight_map":{"a":"m-1.safetensors"}})");
  const auto opened = open();
  ASSERT_TRUE(opened.ok()) << opened.refusal().message();
  EXPECT_NE(opened->find("a"), nullptr);
  EXPECT_EQ(opened->find("b"), nullptr);
}

TEST_F(ComponentSourceTest, TwoIndices_AreRefused) {
  put_file("m.safetensors", "a");
  for (const char* name : {"x.safetensors.index.json", "y.safetensors.index.json"}) {
    files_.put(platform::Path("/model/transformer") / name,
               R"({"weight_map":{"a":"m.safetensors"}})");
  }
  EXPECT_EQ(code(open()), codes::kAmbiguousIndex);
}

TEST_F(ComponentSourceTest, NoFile_IsRefused) {
  files_.put("/model/transformer/config.json", "{}");
  EXPECT_EQ(code(open()), codes::kEmptyCheckpoint);
}

TEST_F(ComponentSourceTest, OnlyPickledWeights_AreRefusedAsUnsupported) {
  files_.put("/model/transformer/diffusion_pytorch_model.bin", "pickle");
  EXPECT_EQ(code(open()), codes::kUnsupportedFormat);
}

TEST_F(ComponentSourceTest, FolderThatDoesNotExist_IsRefused) {
  EXPECT_EQ(code(open()), codes::kFileNotFound);
}

TEST_F(ComponentSourceTest, MissingShard_IsRefused) {
  put_file("m-1.safetensors", "a");
  files_.put("/model/transformer/m.safetensors.index.json",
             R"({"weight_map":{"a":"m-1.safetensors","b":"m-2.safetensors"}})");
  EXPECT_EQ(code(open()), codes::kMissingShard);
}

TEST_F(ComponentSourceTest, IndexThatIsNotJson_IsRefused) {
  put_file("m-1.safetensors", "a");
  files_.put("/model/transformer/m.safetensors.index.json", "{");
  EXPECT_EQ(code(open()), codes::kIndexInvalid);
}

TEST_F(ComponentSourceTest, FileCutShort_IsRefused) {
  put_file("m.safetensors", "a");
  files_.put("/model/transformer/m.safetensors",
             files_.contents("/model/transformer/m.safetensors")->substr(0, 40));
  EXPECT_EQ(code(open()), codes::kSafetensorsInvalid);
}

TEST_F(ComponentSourceTest, KeyInTwoFilesWithoutIndex_IsRefusedWithBothNames) {
  put_file("m-1.safetensors", "a");
  put_file("m-2.safetensors", "a");
  const auto opened = open();
  ASSERT_EQ(code(opened), codes::kDuplicateTensor);
  EXPECT_NE(opened.refusal().what.find("m-1.safetensors"), std::string::npos);
  EXPECT_NE(opened.refusal().what.find("m-2.safetensors"), std::string::npos);
}

TEST_F(ComponentSourceTest, Patterns_ChooseAmongFiles) {
  put_file("fp16.safetensors", "a");
  put_file("full-1.safetensors", "a");
  put_file("full-2.safetensors", "b");
  const auto opened = open({"full-?.safetensors"});
  ASSERT_TRUE(opened.ok()) << opened.refusal().message();
  EXPECT_EQ(opened->file_paths().size(), 2U);
  EXPECT_EQ(code(open({"none*"})), codes::kEmptyCheckpoint);
}

TEST(NaturalLess, Numbers_CompareByValue) {
  EXPECT_TRUE(natural_less("a2", "a10"));
  EXPECT_FALSE(natural_less("a10", "a2"));
  EXPECT_TRUE(natural_less("a002", "a10"));
  EXPECT_TRUE(natural_less("m-00002-of-00010", "m-00010-of-00010"));
  EXPECT_TRUE(natural_less("a", "a1"));
  EXPECT_TRUE(natural_less("99999999999999999999998", "99999999999999999999999"));
  EXPECT_FALSE(natural_less("same", "same"));
}

TEST(MatchesPattern, StarAndQuestionMark_MeanTextAndCharacter) {
  EXPECT_TRUE(matches_pattern("model-00001.safetensors", "*.safetensors"));
  EXPECT_TRUE(matches_pattern("abc", "a?c"));
  EXPECT_FALSE(matches_pattern("ac", "a?c"));
  EXPECT_TRUE(matches_pattern("aXbXc", "a*b*c"));
  EXPECT_TRUE(matches_pattern("", "*"));
  EXPECT_FALSE(matches_pattern("model.bin", "*.safetensors"));
  EXPECT_FALSE(matches_pattern("model.safetensors.index.json", "*.safetensors"));
}

}  // namespace
}  // namespace dlo::host_weights
