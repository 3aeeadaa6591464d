// Goal: `dlo plan` turns its flags into the forecast they name and prints the verdict, the block
// table and every mode. Method: a seeded wan_tiny folder in memory, word lists as a shell would
// pass them; JSON and text of one forecast.
#include "harness/cli/plan_command.h"

#include <gtest/gtest.h>

#include <map>

#include "base/codes.h"
#include "harness/cli/forecast_text.h"
#include "host_weights/seeded_checkpoint/seeded_checkpoint.h"
#include "platform/cpu/thread_executor.h"
#include "platform/posix/posix_file_system.h"
#include "tests/support/memory_file_system.h"

namespace dlo::harness {
namespace {

using engine::CheckpointForecast;

class PlanCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    host_weights::SeededCheckpointOptions options;
    options.preset = "wan_tiny";
    options.dtype = host_weights::StoredDType::kF32;
    options.out = "/c";
    platform::ThreadExecutor executor(1);
    ASSERT_TRUE(host_weights::create_seeded_checkpoint(files_, executor, options).ok());
  }
  Result<engine::ForecastRequest> request(std::vector<std::string> words) {
    words.insert(words.begin(), {"plan", "--checkpoint", "/c"});
    const auto arguments = parse_arguments(words);
    if (!arguments.ok()) {
      return arguments.refusal();
    }
    EXPECT_EQ(arguments->subcommand, Subcommand::kPlan);
    return forecast_request(arguments->plan);
  }
  CheckpointForecast forecast(const std::vector<std::string>& words) {
    return engine::forecast_checkpoint(files_, request(words).value()).value();
  }
  std::string verdict(const std::vector<std::string>& words) {
    const auto seen = forecast(words);
    return seen.planned ? "planned" : seen.verdict.code;
  }

  test_support::MemoryFileSystem files_;
};

// The folder of SetUp() with a text encoder that says what it is and has no weights.
class PlanOfATextEncoder : public PlanCommand {
 protected:
  engine::SourceForecast encoder(const std::string& class_name, const nlohmann::json& config) {
    auto index = nlohmann::json::parse(files_.contents("/c/model_index.json").value());
    index["text_encoder"] = {"transformers", class_name};
    files_.put("/c/model_index.json", index.dump());
    if (!config.is_null()) {
      files_.put("/c/text_encoder/config.json", config.dump());
    }
    seen_ = forecast({});
    for (const auto& source : seen_.sources) {
      if (source.component == "text_encoder") {
        return source;
      }
    }
    return {};
  }

  CheckpointForecast seen_;
};

std::map<std::string, engine::ModeForecast> by_name(const CheckpointForecast& forecast) {
  std::map<std::string, engine::ModeForecast> modes;
  for (const auto& mode : forecast.modes) {
    modes[mode.name] = mode;
  }
  return modes;
}

TEST_F(PlanCommand, Flags_BecomeTheRequest) {
  const auto seen =
      request({"--dp", "4", "--tp", "2", "--ulysses", "3", "--ring", "5", "--hsdp",
               "--no-allgather", "--no-checkpoint-mmap", "--runtime-dtype", "BF16",
               "--no-fp32-modules", "--resident-layers", "2", "--prefetch-depth", "3"});
  ASSERT_TRUE(seen.ok()) << seen.refusal().message();
  EXPECT_EQ(seen->model.checkpoint, "/c");
  EXPECT_EQ(seen->model.runtime_dtype, DType::kBF16);
  EXPECT_FALSE(seen->model.keep_fp32_modules);
  EXPECT_EQ(seen->parallel.data_parallel_size, 4);
  EXPECT_EQ(seen->parallel.tensor_parallel_size, 2);
  EXPECT_EQ(seen->parallel.ulysses_degree, 3);
  EXPECT_EQ(seen->parallel.ring_degree, 5);
  EXPECT_TRUE(seen->parallel.use_hsdp);
  EXPECT_TRUE(seen->options.enable_distributed_layerwise_offload);
  EXPECT_FALSE(seen->options.dlo_use_allgather);
  EXPECT_FALSE(seen->options.dlo_checkpoint_mmap);
  EXPECT_EQ(seen->options.dlo_resident_layers, 2);
  EXPECT_EQ(seen->options.dlo_prefetch_depth, 3);
}

TEST_F(PlanCommand, WrongValues_AreRefused) {
  EXPECT_FALSE(request({"--dp", "0"}).ok());
  EXPECT_FALSE(request({"--runtime-dtype", "F8"}).ok());
  EXPECT_FALSE(parse_arguments({"plan"}).ok());
}

TEST_F(PlanCommand, OneFactFlipped_GivesItsCode) {
  EXPECT_EQ(verdict({}), "planned");
  EXPECT_EQ(verdict({"--tp", "2"}), codes::kUnsupportedTp);
  EXPECT_EQ(verdict({"--hsdp", "--no-allgather"}), codes::kUnsupportedHsdp);
  EXPECT_EQ(verdict({"--online-quantization"}), codes::kUnsupportedOnlineQuantization);
  EXPECT_EQ(verdict({"--runtime-dtype", "BF16"}), codes::kCheckpointPlanIncompatible);
  EXPECT_EQ(verdict({"--fused-projections"}), codes::kCheckpointPlanIncompatible);
}

TEST_F(PlanCommand, TensorParallelism_IsNamedAsARefusedRun) {
  const auto seen = forecast({"--tp", "2"});
  EXPECT_FALSE(seen.violations.empty());
  EXPECT_TRUE(forecast({}).violations.empty());
}

TEST_F(PlanCommand, EveryMode_IsForecastAndTheChosenOneMarked) {
  const auto one = by_name(forecast({}));
  EXPECT_EQ(one.size(), 3U);
  EXPECT_TRUE(one.at("staged").chosen);
  const auto four = by_name(forecast({"--dp", "4"}));
  EXPECT_EQ(four.size(), 4U);
  EXPECT_TRUE(four.at("all_gather").chosen);
  EXPECT_EQ(four.at("all_gather").effective.group_size, 4U);
  EXPECT_TRUE(by_name(forecast({"--no-offload"})).at("resident").chosen);
  EXPECT_TRUE(by_name(forecast({"--no-checkpoint-mmap"})).at("rank_local").chosen);
}

TEST_F(PlanCommand, Memory_FollowsTheBlockTable) {
  const auto seen = forecast({"--dp", "2"});
  std::uint64_t padded = 0;
  std::uint64_t bytes = 0;
  for (const auto& block : seen.blocks) {
    padded += block.block ? block.padded_bytes : 0;
    bytes += block.block ? block.bytes : 0;
  }
  const auto modes = by_name(seen);
  EXPECT_EQ(modes.at("rank_local").host_private_bytes, padded);
  EXPECT_EQ(modes.at("rank_local").mapped_bytes, 0U);
  EXPECT_EQ(modes.at("staged").mapped_bytes, bytes);
  EXPECT_EQ(modes.at("staged").host_private_bytes, modes.at("staged").memory.staging_bytes());
  EXPECT_NEAR(static_cast<double>(modes.at("all_gather").host_private_bytes),
              static_cast<double>(padded) / 2, 512.0 * 8);
  EXPECT_EQ(modes.at("resident").host_private_bytes, 0U);
  EXPECT_EQ(seen.no_token_bytes(), 0U);
}

TEST_F(PlanCommand, Json_HasEveryPart) {
  const auto asked = request({"--dp", "2"}).value();
  const auto json = forecast_json(asked, engine::forecast_checkpoint(files_, asked).value());
  EXPECT_EQ(json["verdict"]["code"], "planned");
  EXPECT_EQ(json["topology"]["dp"], 2);
  ASSERT_EQ(json["sources"].size(), 1U);
  EXPECT_EQ(json["sources"][0]["component"], "transformer");
  EXPECT_GT(json["sources"][0]["bytes"].get<std::uint64_t>(), 0U);
  EXPECT_GT(json["blocks"].size(), 1U);
  EXPECT_EQ(json["modes"].size(), 4U);
  EXPECT_EQ(json["no_token_bytes"], 0);
}

TEST_F(PlanCommand, Text_SaysVerdictAndModes) {
  const auto asked = request({"--runtime-dtype", "BF16"}).value();
  const auto text = forecast_text(asked, engine::forecast_checkpoint(files_, asked).value());
  EXPECT_NE(text.find("checkpoint_plan_incompatible: dtype mismatch"), std::string::npos) << text;
  EXPECT_NE(text.find("rank_local"), std::string::npos);
  EXPECT_NE(text.find("no work per token: 0 B"), std::string::npos) << text;
  EXPECT_NE(text.find("alike"), std::string::npos) << text;
}

// Folders that diffusers wrote.
CheckpointForecast forecast_of(const std::string& folder, bool fused = false,
                               DType runtime_dtype = DType::kF32) {
  const platform::PosixFileSystem files;
  engine::ForecastRequest request;
  request.model.runtime_dtype = runtime_dtype;
  request.model.checkpoint = platform::Path(DLO_GOLDEN_DIR) / folder;
  request.model.fused_projections = fused;
  request.options.enable_distributed_layerwise_offload = true;
  return engine::forecast_checkpoint(files, request).value();
}

TEST(PlanOfAFamily, Flux_CountsItsModulationAsBytesWithoutTokenWork) {
  const auto seen = forecast_of("flux_tiny/checkpoint");
  EXPECT_TRUE(seen.planned) << seen.verdict.message();
  // Two dual blocks with two modulations of 6 d rows each, three single ones with one of 3 d rows.
  constexpr std::uint64_t kHidden = 32;
  constexpr std::uint64_t kElements =
      2 * 2 * 6 * kHidden * (kHidden + 1) + 3 * 3 * kHidden * (kHidden + 1);
  EXPECT_EQ(seen.no_token_bytes(), kElements * sizeof(float));
  EXPECT_EQ(forecast_of("wan_tiny/checkpoint").no_token_bytes(), 0U);
}

TEST(PlanOfAFamily, MiniMaxH3_IsMappedWithItsGroupedQkvInItsOwnDTypesAlone) {
  const auto seen = forecast_of("h3_tiny/native", false, DType::kBF16);
  EXPECT_TRUE(seen.planned) << seen.verdict.message();
  // Three blocks: 6 x 3 x 48 rows of 24 elements, and their biases, in BF16.
  constexpr std::uint64_t kRows = 6 * 3 * 48;
  EXPECT_EQ(seen.no_token_bytes(), 3 * kRows * (24 + 1) * 2);
  const auto other = forecast_of("h3_tiny/native", false, DType::kF32);
  EXPECT_FALSE(other.planned);
  EXPECT_TRUE(other.verdict.what.starts_with("dtype mismatch")) << other.verdict.what;
}

TEST(PlanOfAFamily, FusedProjections_FlipThePlanOfEveryFamily) {
  for (const char* folder : {"flux_tiny/checkpoint", "wan_tiny/checkpoint"}) {
    EXPECT_TRUE(forecast_of(folder).planned) << folder;
    const auto fused = forecast_of(folder, true);
    EXPECT_FALSE(fused.planned) << folder;
    EXPECT_EQ(fused.verdict.code, codes::kCheckpointPlanIncompatible);
    EXPECT_NE(fused.verdict.what.find("loader of their own"), std::string::npos);
  }
}

TEST(PlanOfAFamily, TextEncoder_IsOrdinaryOnDemandBesideAMappedTransformer) {
  const auto seen = forecast_of("wan_tiny/checkpoint");
  EXPECT_TRUE(seen.planned);
  std::map<std::string, engine::SourceForecast> sources;
  for (const auto& source : seen.sources) {
    sources[source.component] = source;
  }
  const auto& encoder = sources.at("text_encoder");
  EXPECT_EQ(encoder.placement, engine::kOnDemand);
  EXPECT_EQ(encoder.tensor_count, 32U);
  EXPECT_GE(encoder.device_bytes, encoder.bytes) << "tensors begin at multiples of 256";
  EXPECT_LT(encoder.device_bytes, encoder.bytes + 32 * 256);
  EXPECT_EQ(sources.at("transformer").placement, "");
  EXPECT_EQ(sources.at("vae").placement, engine::kNotRead);
  const auto asked = engine::ForecastRequest{};
  EXPECT_NE(forecast_text(asked, seen).find("ordinary, on demand: with prompts, "),
            std::string::npos);
  const auto json = forecast_json(asked, seen);
  EXPECT_EQ(json["sources"][0]["placement"], "ordinary, on demand");
  EXPECT_EQ(json["sources"][0]["device_bytes"], encoder.device_bytes);
  for (const auto& source : forecast_of("flux_tiny/checkpoint").sources) {
    EXPECT_NE(source.placement, engine::kOnDemand) << source.component;
  }
}

TEST_F(PlanOfATextEncoder, Refused_IsNotedWithItsCode) {
  EXPECT_TRUE(encoder("UMT5EncoderModel", nullptr).note.starts_with(codes::kTextEncoderMissing));
  const auto foreign = encoder("T5EncoderModel", {{"architectures", {"T5EncoderModel"}}});
  EXPECT_TRUE(foreign.note.starts_with(codes::kNotInThisProduct)) << foreign.note;
  EXPECT_EQ(foreign.placement, engine::kNotRead);
  const auto text = forecast_text({}, seen_);
  EXPECT_NE(text.find(" not_in_this_product: "), std::string::npos) << text;
  const auto wide =
      encoder("UMT5EncoderModel", {{"architectures", {"UMT5EncoderModel"}}, {"d_model", 8}});
  EXPECT_TRUE(wide.note.starts_with(codes::kCheckpointInvalid)) << wide.note;
  EXPECT_TRUE(seen_.planned) << "the transformer is mapped all the same";
}

TEST_F(PlanOfATextEncoder, RefusedWithItsWeightsThere_KeepsItsFiguresBesideTheCode) {
  const platform::PosixFileSystem disk;
  const auto weights =
      platform::Path(DLO_GOLDEN_DIR) / "wan_tiny/checkpoint/text_encoder/model.safetensors";
  files_.put("/c/text_encoder/model.safetensors", disk.read_text(weights, kMiB).value());
  const auto source = encoder("T5EncoderModel", {{"architectures", {"T5EncoderModel"}}});
  EXPECT_EQ(source.tensor_count, 32U);
  const auto text = forecast_text({}, seen_);
  EXPECT_NE(text.find("32 tensors"), std::string::npos) << text;
  EXPECT_NE(text.find("not read by this product: not_in_this_product: "), std::string::npos)
      << text;
  const auto json = forecast_json({}, seen_)["sources"];
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0]["component"], "text_encoder");
  EXPECT_EQ(json[0]["note"], source.note);
  EXPECT_EQ(json[0]["tensors"], 32);
  EXPECT_EQ(json[0]["placement"], "not read");
}

TEST_F(PlanCommand, FolderWithoutModel_IsRefused) {
  auto asked = request({}).value();
  asked.model.checkpoint = "/nowhere";
  EXPECT_FALSE(engine::forecast_checkpoint(files_, asked).ok());
}

}  // namespace
}  // namespace dlo::harness
