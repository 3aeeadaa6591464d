// Goal: `dlo predict` turns its flags into the prediction they name, refuses what it does not know,
// and prints every figure with its limit and source.
// Method: word lists as a shell would pass them; a calibration file in memory; the text and JSON of
// one small prediction.
#include "harness/cli/predict_command.h"

#include <gtest/gtest.h>

#include "base/codes.h"
#include "harness/cli/prediction_text.h"
#include "tests/support/memory_file_system.h"

namespace dlo::harness {
namespace {

using contracts::Transfer;
using engine::PredictRequest;

class PredictCommand : public ::testing::Test {
 protected:
  Result<PredictRequest> request(std::vector<std::string> words) {
    words.insert(words.begin(), "predict");
    const auto arguments = parse_arguments(words);
    if (!arguments.ok()) {
      return arguments.refusal();
    }
    EXPECT_EQ(arguments->subcommand, Subcommand::kPredict);
    return predict_request(files_, arguments->predict);
  }

  std::string refusal(std::vector<std::string> words) {
    const auto answer = request(std::move(words));
    return answer.ok() ? "accepted" : answer.refusal().message();
  }

  test_support::MemoryFileSystem files_;
};

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_F(PredictCommand, Flags_BecomeTheRequest) {
  const auto answer =
      request({"--ranks",       "4",       "--group",          "2",  "--transfer",    "all_gather",
               "--preset",      "wan_14b", "--blocks",         "16", "--compute-ms",  "2.1",
               "--other-ms",    "0.5",     "--prefetch-depth", "2",  "--chunk-bytes", "0",
               "--input-slots", "3",       "--forwards",       "4"});
  ASSERT_TRUE(answer.ok()) << answer.refusal().message();
  EXPECT_EQ(answer->calibration.name, "h200");
  EXPECT_EQ(answer->ranks, 4U);
  EXPECT_EQ(answer->group_size, 2U);
  EXPECT_EQ(answer->transfer, Transfer::kAllGather);
  ASSERT_EQ(answer->blocks.size(), 16U);
  EXPECT_EQ(answer->blocks[15].compute_ns, 2'100'000);
  EXPECT_EQ(answer->other_compute_ns, 500'000);
  EXPECT_EQ(answer->prefetch_depth, 2U);
  EXPECT_EQ(answer->chunk_bytes, 0U);
  EXPECT_EQ(answer->input_slots, 3U);
  EXPECT_EQ(answer->forwards, 4U);
}

TEST_F(PredictCommand, Preset_GivesItsOwnBlocksAndTheProductsChunks) {
  const auto answer = request({"--preset", "wan_1_3b", "--tokens", "32760"});
  ASSERT_TRUE(answer.ok()) << answer.refusal().message();
  EXPECT_EQ(answer->blocks.size(), 30U);
  EXPECT_EQ(answer->chunk_bytes, 64U * 1024 * 1024);
  EXPECT_NEAR(static_cast<double>(answer->blocks[0].compute_ns), 18.0e6, 0.3e6);
}

TEST_F(PredictCommand, UnknownNames_AreRefusedWithTheNearest) {
  EXPECT_TRUE(says(refusal({"--device", "h20", "--preset", "wan_14b", "--compute-ms", "1"}),
                   "did you mean 'h200'?"));
  EXPECT_TRUE(says(refusal({"--transfer", "allgather", "--preset", "wan_14b", "--compute-ms", "1"}),
                   "did you mean 'all_gather'?"));
  EXPECT_TRUE(
      says(refusal({"--preset", "wan_14", "--compute-ms", "1"}), "did you mean 'wan_14b'?"));
  EXPECT_TRUE(says(refusal({"--input-slot", "1"}), "did you mean '--input-slots'?"));
}

TEST_F(PredictCommand, MissingOrDoubleFacts_AreRefused) {
  EXPECT_TRUE(says(refusal({"--preset", "wan_14b"}), "--compute-ms"));
  EXPECT_TRUE(
      says(refusal({"--preset", "wan_14b", "--compute-ms", "1", "--tokens", "5"}), "twice"));
  EXPECT_TRUE(says(refusal({"--compute-ms", "1"}), "--block-bytes"));
  EXPECT_TRUE(says(refusal({"--block-bytes", "1000", "--compute-ms", "1"}), "--blocks"));
  EXPECT_TRUE(says(refusal({"--block-bytes", "1000", "--blocks", "2", "--tokens", "1"}), "preset"));
  EXPECT_TRUE(says(refusal({"--device", "b300", "--preset", "wan_14b", "--tokens", "1"}),
                   "no rate of operations"));
  EXPECT_TRUE(says(refusal({"--preset", "wan_14b", "--compute-ms", "-1"}), "--compute-ms"));
  EXPECT_TRUE(says(refusal({"--preset", "wan_14b", "--compute-ms", "1", "--prefetch-depth", "9"}),
                   "depth of 1 to 4"));
}

TEST_F(PredictCommand, CalibrationFile_StandsOverTheDevice) {
  auto own = engine::builtin_calibration("h200").value();
  own.name = "mine";
  files_.put("mine.json", engine::calibration_to_json(own).dump());
  const auto answer = request({"--calibration", "mine.json", "--device", "b300", "--preset",
                               "wan_14b", "--compute-ms", "1"});
  ASSERT_TRUE(answer.ok()) << answer.refusal().message();
  EXPECT_EQ(answer->calibration, own);

  files_.put("broken.json", "{");
  EXPECT_TRUE(says(refusal({"--calibration", "broken.json"}), "broken.json"));
  EXPECT_TRUE(says(refusal({"--calibration", "none.json"}), codes::kFileNotFound));
}

TEST_F(PredictCommand, TextAndJson_ShowFiguresWithLimitsAndSources) {
  const auto asked = request({"--ranks", "8", "--transfer", "all_gather", "--preset", "wan_14b",
                              "--blocks", "3", "--compute-ms", "30", "--forwards", "1"})
                         .value();
  const auto result = engine::predict(asked).value();
  const auto text = prediction_text(asked, result);
  EXPECT_TRUE(says(text, "bound: compute")) << text;
  EXPECT_TRUE(says(text, "of compute, lost")) << text;
  EXPECT_TRUE(says(text, "extrapolated: as with four GPUs at once")) << text;
  EXPECT_TRUE(says(text, "361.4 GB/s on 8 H200s")) << text;
  const auto json = prediction_json(asked, result);
  EXPECT_EQ(json.at("result").at("wave_ns"), result.wave_ns);
  EXPECT_EQ(json.at("result").at("bound"), "compute");
  EXPECT_TRUE(json.at("rests_on_extrapolated_figures").get<bool>());
  EXPECT_EQ(json.at("request").at("group_size"), 8);
  EXPECT_EQ(engine::calibration_from_json(json.at("calibration"), "text").value(),
            asked.calibration);
}

}  // namespace
}  // namespace dlo::harness
