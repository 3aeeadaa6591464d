// Goal: the report has every tensor of a file, a component or a pipeline with the digest of exactly
// its bytes, in the agreed JSON form, and every fault of a part is the fault of the whole.
// Method: checkpoints in the in-memory file system; digests computed here from the texts.
#include "host_weights/safetensors/inspect.h"

#include <gtest/gtest.h>

#include "base/sha256.h"
#include "platform/cpu/thread_executor.h"
#include "tests/support/memory_file_system.h"
#include "tests/unit/host_weights/safetensors/bytes_of_files.h"

namespace dlo::host_weights {
namespace {

using test::file_of_texts;

class Inspect : public testing::Test {
 protected:
  void put_pipeline() {
    files_.put("/p/model_index.json", R"({
      "_class_name": "WanPipeline", "_diffusers_version": "0.35",
      "scheduler": ["diffusers", "UniPCMultistepScheduler"],
      "tokenizer": ["transformers", "T5TokenizerFast"],
      "safety_checker": [null, null],
      "transformer": ["diffusers", "WanTransformer3DModel"],
      "vae": ["diffusers", "AutoencoderKLWan"]})");
    files_.put("/p/scheduler/scheduler_config.json", "{}");
    files_.put("/p/tokenizer/spiece.model", "tokens");
    files_.put("/p/transformer/config.json", "{}");
    files_.put("/p/transformer/1.safetensors", file_of_texts({{"x", "one"}}));
    files_.put("/p/transformer/2.safetensors", file_of_texts({{"w", "two"}}));
    files_.put("/p/transformer/d.safetensors.index.json",
               R"({"weight_map":{"x":"1.safetensors","w":"2.safetensors"}})");
    files_.put("/p/vae/config.json", "{}");
    files_.put("/p/vae/model.safetensors", file_of_texts({{"x", "three"}}));
  }

  Result<InspectReport> run(const char* path) { return inspect(files_, executor_, path); }

  test_support::MemoryFileSystem files_;
  platform::ThreadExecutor executor_{2};
};

TEST_F(Inspect, File_GivesTheAgreedJson) {
  files_.put("/m.safetensors", file_of_texts({{"b", "bytes"}, {"a", ""}}));
  const auto report = run("/m.safetensors");
  ASSERT_TRUE(report.ok()) << report.refusal().message();
  const auto row = [](const char* name, std::string_view bytes) {
    return nlohmann::ordered_json{{"name", name},
                                  {"dtype", "U8"},
                                  {"shape", std::vector<std::size_t>{bytes.size()}},
                                  {"bytes", bytes.size()},
                                  {"sha256", sha256_hex(bytes)},
                                  {"file", "m.safetensors"}};
  };
  nlohmann::ordered_json expected;
  expected["tensors"] = {row("a", ""), row("b", "bytes")};
  EXPECT_EQ(inspect_json(*report).dump(), expected.dump());
}

TEST_F(Inspect, Component_CoversAllShardsByName) {
  put_pipeline();
  const auto report = run("/p/transformer");
  ASSERT_TRUE(report.ok()) << report.refusal().message();
  ASSERT_EQ(report->tensors.size(), 2U);
  EXPECT_EQ(report->tensors[0].name, "w");
  EXPECT_EQ(report->tensors[0].file, "2.safetensors");
  EXPECT_EQ(report->tensors[0].sha256, sha256_hex(std::string_view("two")));
  EXPECT_EQ(report->tensors[1].sha256, sha256_hex(std::string_view("one")));
}

TEST_F(Inspect, Pipeline_PrefixesNamesByComponentAndSkipsWhatHasNoWeights) {
  put_pipeline();
  const auto report = run("/p");
  ASSERT_TRUE(report.ok()) << report.refusal().message();
  ASSERT_EQ(report->tensors.size(), 3U);
  EXPECT_EQ(report->tensors[0].name, "transformer.w");
  EXPECT_EQ(report->tensors[1].name, "transformer.x");
  EXPECT_EQ(report->tensors[2].name, "vae.x");
  EXPECT_EQ(report->tensors[2].file, "vae/model.safetensors");
  EXPECT_EQ(report->tensors[2].component, "vae");
  EXPECT_EQ(inspect_json(*report)["tensors"][2]["component"], "vae");
}

TEST_F(Inspect, PipelineWithABrokenPart_IsRefused) {
  put_pipeline();
  ASSERT_TRUE(files_.remove_file("/p/vae/model.safetensors").ok());
  EXPECT_EQ(run("/p").refusal().code, "empty_checkpoint");
  ASSERT_TRUE(files_.remove_file("/p/transformer/2.safetensors").ok());
  EXPECT_EQ(run("/p").refusal().code, "missing_shard");
}

TEST_F(Inspect, PipelineWithoutAFolder_InspectsTheRestWithANote) {
  put_pipeline();
  ASSERT_TRUE(files_.remove_tree("/p/vae").ok());
  const auto report = run("/p");
  ASSERT_TRUE(report.ok()) << report.refusal().message();
  EXPECT_EQ(report->tensors.size(), 2U);
  EXPECT_EQ(report->notes, std::vector<std::string>{"component \"vae\" has no folder"});
  ASSERT_TRUE(files_.remove_tree("/p/transformer").ok());
  EXPECT_EQ(run("/p").refusal().code, "empty_checkpoint");
}

TEST_F(Inspect, Refusal_GivesCodeMessageAndTheKindOfHeaderError) {
  files_.put("/m.safetensors", "short");
  const auto refused = inspect_error_json(run("/m.safetensors").refusal());
  EXPECT_EQ(refused["error"]["code"], "safetensors_invalid");
  EXPECT_EQ(refused["error"]["kind"], "header too small");
  EXPECT_NE(refused["error"]["message"].get<std::string>().find("/m.safetensors"),
            std::string::npos);
  const auto absent = inspect_error_json(run("/none").refusal());
  EXPECT_EQ(absent["error"]["code"], "file_not_found");
  EXPECT_FALSE(absent["error"].contains("kind"));
}

TEST_F(Inspect, PathThatIsNotUtf8_StillGivesJson) {
  files_.put("/\xFF/m.safetensors", "short");
  EXPECT_NO_THROW(
      static_cast<void>(inspect_error_json(run("/\xFF/m.safetensors").refusal()).dump()));
  files_.put("/\xFF.safetensors", file_of_texts({{"a", "A"}}));
  EXPECT_NO_THROW(static_cast<void>(inspect_json(*run("/\xFF.safetensors")).dump()));
}

TEST_F(Inspect, Text_ListsEveryTensorAndNote) {
  put_pipeline();
  files_.put("/p/transformer/stray.safetensors", "x");
  const auto report = run("/p");
  ASSERT_TRUE(report.ok());
  const auto text = inspect_text(*report);
  EXPECT_NE(text.find("\"transformer.w\""), std::string::npos);
  EXPECT_NE(text.find("note: transformer: stray.safetensors"), std::string::npos);
  EXPECT_NE(text.find("3 tensors, 11 B"), std::string::npos);
}

}  // namespace
}  // namespace dlo::host_weights
