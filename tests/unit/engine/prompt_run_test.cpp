// Goal: prompts become the transformer's text states through the checkpoint's encoder in every
// mode; the encoder comes to the device before a request denoises and is gone by then, or stays in
// a run that keeps everything there; what cannot be is refused by name; whatever fails on the way
// leaves nothing behind.
// Method: the wan_tiny checkpoint, which has a UMT5 encoder, on ranks that are threads; devices
// that look at the books and that fail calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "engine/model_runner.h"
#include "platform/forwarding_device.h"
#include "tests/support/engine_ranks.h"
#include "tests/support/tiny_run.h"

namespace dlo::engine {
namespace {

using platform::MemoryPurpose;
using test_support::run_on_threads;

enum class Mode : std::uint8_t { kResident, kRankLocal, kStaged, kAllGather, kGatheredMapping };

constexpr std::array kStreamed = {Mode::kRankLocal, Mode::kStaged, Mode::kAllGather,
                                  Mode::kGatheredMapping};

RunRequest prompted(Mode mode, std::int64_t dp) {
  auto request = test_support::tiny_run(DLO_GOLDEN_CHECKPOINT, dp);
  request.options.enable_distributed_layerwise_offload = mode != Mode::kResident;
  request.options.dlo_use_allgather = mode == Mode::kAllGather || mode == Mode::kGatheredMapping;
  request.options.dlo_checkpoint_mmap = mode == Mode::kStaged || mode == Mode::kGatheredMapping;
  request.requests.count = 3;
  request.requests.text_tokens = 12;
  request.requests.prompt_token_count = 7;
  return request;
}

RunReport run_alone(const RunRequest& request) {
  return run_on_threads(1, request).front();
}

bool has_event(const RankReport& rank, const std::string& event) {
  return std::find(rank.events.begin(), rank.events.end(), event) != rank.events.end();
}

void expect_nothing_left(const RankReport& rank, const std::string& what) {
  ASSERT_TRUE(rank.resources.has_value()) << what;
  const auto lines = telemetry::grown_resources(rank.resources->before, rank.resources->after);
  EXPECT_TRUE(lines.empty()) << what << ": " << lines.front();
}

TEST(PromptRun, EveryMode_GivesTheResidentBytesAndDropsTheEncoder) {
  const auto resident = run_on_threads(2, prompted(Mode::kResident, 2)).front();
  ASSERT_EQ(resident.outcome, Outcome::kRuns) << resident.message;
  for (const auto& rank : resident.ranks) {
    EXPECT_TRUE(has_event(rank, "components: text_encoder stays"));
    EXPECT_GT(rank.owned.component_now, 0U);
    EXPECT_EQ(rank.owned.host_private_now, 0U) << "a component that stays keeps no host master";
    EXPECT_EQ(rank.owned.device_peak, rank.owned.device_limit);
  }
  const auto component_bytes = resident.ranks.front().owned.component_now;
  for (const auto mode : kStreamed) {
    const auto report = run_on_threads(2, prompted(mode, 2)).front();
    ASSERT_EQ(report.outcome, Outcome::kRuns) << report.message;
    EXPECT_EQ(report.output_digest, resident.output_digest);
    for (const auto& rank : report.ranks) {
      EXPECT_TRUE(has_event(rank, "components: text_encoder on demand"));
      EXPECT_TRUE(rank.traffic.matches_plan()) << "the encoder is no part of a forward's traffic";
      EXPECT_EQ(rank.owned.component_now, 0U);
      EXPECT_EQ(rank.owned.component_peak, component_bytes);
      EXPECT_EQ(rank.owned.device_peak, rank.owned.device_limit);
      EXPECT_LE(rank.owned.host_private_now, rank.owned.host_private_limit);
      EXPECT_EQ(rank.effective.backing == contracts::Backing::kCheckpointMmap,
                mode == Mode::kStaged || mode == Mode::kGatheredMapping)
          << "an encoder beside them does not keep the transformers from being mapped";
    }
  }
}

TEST(PromptRun, Prompt_DecidesTheOutput) {
  auto request = prompted(Mode::kRankLocal, 1);
  const auto drawn = run_alone(request);
  request.requests.prompt_token_count = 0;
  const auto seeded = run_alone(request);
  EXPECT_FALSE(has_event(seeded.ranks.at(0), "components: text_encoder on demand"));
  EXPECT_EQ(seeded.ranks.at(0).owned.component_peak, 0U);
  request.requests.prompt_tokens = {5, 17, 1};
  const auto given = run_alone(request);
  request.requests.prompt_tokens = {5, 17, 1, 0};  // the pad token, but a token of the prompt
  const auto longer = run_alone(request);
  EXPECT_EQ(std::set<std::string>({drawn.output_digest, seeded.output_digest, given.output_digest,
                                   longer.output_digest})
                .size(),
            4U);
}

// Notes the largest number of component bytes on the device while blocks are copied or the sampler
// is at work, and while the encoder must be there.
class BookReader final : public platform::ForwardingDevice {
 public:
  struct Seen {
    std::atomic<std::uint64_t> while_denoising{0};
    std::atomic<std::uint64_t> ever{0};
    std::atomic<std::uint64_t> outputs{0};
  };

  BookReader(std::unique_ptr<platform::Device> inner, Seen& seen)
      : ForwardingDevice(std::move(inner)), seen_(seen) {}

  Result<std::unique_ptr<platform::DeviceBuffer>> allocate_device(std::uint64_t bytes,
                                                                  MemoryPurpose purpose) override {
    if (purpose == MemoryPurpose::kResident && ready_) {
      note(seen_.while_denoising);  // leading blocks begin their stage
    }
    return ForwardingDevice::allocate_device(bytes, purpose);
  }
  void record(platform::EventId event, platform::StreamKind stream,
              const platform::OpLabel& label) override {
    if (label.site == platform::Site::kFreeRecord) {
      note(seen_.while_denoising);  // behind the compute of a streamed block
    }
    ForwardingDevice::record(event, stream, label);
  }
  void copy_to_host(platform::StreamKind stream, ByteSpan destination, DeviceSpan source,
                    const platform::OpLabel& label) override {
    note(seen_.while_denoising);
    ++seen_.outputs;
    ForwardingDevice::copy_to_host(stream, destination, source, label);
  }
  void copy_to_device(platform::StreamKind stream, DeviceSpan destination, ConstByteSpan source,
                      const platform::OpLabel& label) override {
    note(seen_.ever);
    ready_ = ready_ || stream == platform::StreamKind::kCompute;  // the first operand enters
    ForwardingDevice::copy_to_device(stream, destination, source, label);
  }

 private:
  void note(std::atomic<std::uint64_t>& largest) {
    largest = std::max(largest.load(), device_memory(MemoryPurpose::kComponent).now_bytes);
  }

  Seen& seen_;
  bool ready_ = false;
};

TEST(PromptRun, WhileARequestDenoises_TheEncoderIsNotOnTheDevice) {
  for (const auto mode : kStreamed) {
    for (const std::int64_t leading : {0, 1}) {
      auto request = prompted(mode, 2);
      request.options.dlo_resident_layers = request.options.dlo_use_allgather ? 0 : leading;
      BookReader::Seen seen;
      const auto report =
          run_on_threads(2, request,
                         {.device =
                              [&seen](std::unique_ptr<platform::Device> device, int) {
                                return std::make_unique<BookReader>(std::move(device), seen);
                              }})
              .front();
      ASSERT_EQ(report.outcome, Outcome::kRuns) << report.message;
      EXPECT_GT(seen.ever.load(), 0U);
      EXPECT_GT(seen.outputs.load(), 0U);
      EXPECT_EQ(seen.while_denoising.load(), 0U);
    }
  }
}

TEST(PromptRun, ImpossiblePrompts_AreRefusedByName) {
  auto request = prompted(Mode::kRankLocal, 1);
  request.requests.prompt_token_count = 13;
  EXPECT_EQ(run_alone(request).code, "prompt_invalid") << "more than 12 rows";
  request.requests.prompt_token_count = 0;
  for (const std::int64_t id : {std::int64_t{-1}, std::int64_t{128}}) {
    request.requests.prompt_tokens = {5, id};
    const auto report = run_alone(request);
    EXPECT_EQ(report.code, "prompt_invalid");
    EXPECT_NE(report.message.find(std::to_string(id)), std::string::npos) << report.message;
  }
  request.requests.prompt_tokens = {127};
  EXPECT_EQ(run_alone(request).outcome, Outcome::kRuns) << "the last id of the vocabulary";
  request.model.checkpoint = std::string(DLO_GOLDEN_DIR) + "/wan22_tiny/checkpoint";
  EXPECT_EQ(run_alone(request).code, "text_encoder_missing");
  request.model.checkpoint = std::string(DLO_GOLDEN_DIR) + "/flux_tiny/checkpoint";
  EXPECT_EQ(run_alone(request).code, "not_in_this_product");
}

TEST(PromptRun, DeviceBudgetBelowTheEncoder_IsRefusedInItsName) {
  for (const auto mode : {Mode::kResident, Mode::kRankLocal}) {
    auto request = prompted(mode, 1);
    // One byte less than the weights want, let alone the operands.
    request.platform.device_budget_bytes = run_alone(request).ranks.at(0).owned.device_limit - 1;
    const auto report = run_alone(request);
    EXPECT_EQ(report.outcome, Outcome::kFailsClosed);
    EXPECT_EQ(report.code, "device_out_of_memory");
    EXPECT_NE(report.message.find("text_encoder"), std::string::npos) << report.message;
    expect_nothing_left(report.ranks.at(0), report.message);
  }
}

TEST(PromptRun, EveryDeviceCallFails_EndsByTheFaultsNameAndLeavesNothing) {
  using platform::SeamCall;
  auto plain = prompted(Mode::kStaged, 1);
  plain.requests.count = 1;
  plain.requests.steps = 1;
  const auto steady = run_alone(plain);
  for (const auto call : {SeamCall::kAllocateDevice, SeamCall::kAllocatePageable, SeamCall::kRecord,
                          SeamCall::kCopyToDevice, SeamCall::kWaitHost, SeamCall::kSynchronize}) {
    std::size_t ended = 0;
    test_support::fail_each(plain, call, 499,
                            [&](const auto& rank, const auto& report, const std::string& where) {
                              ended += rank.code.empty() ? 0U : 1U;
                              EXPECT_EQ(rank.code.empty() ? report.output_digest : rank.code,
                                        rank.code.empty() ? steady.output_digest : "injected")
                                  << where;
                              expect_nothing_left(rank, where);
                            });
    EXPECT_GT(ended, 0U) << seam_call_name(call);
  }
}

TEST(PromptRun, EveryFileCallFails_EndsByTheFaultsNameAndLeavesNothing) {
  using platform::SeamCall;
  auto plain = prompted(Mode::kRankLocal, 1);
  plain.requests.count = 1;
  plain.requests.steps = 1;
  std::size_t named_the_encoder = 0;
  for (const auto call : {SeamCall::kFileStat, SeamCall::kFileMap, SeamCall::kFileRead}) {
    test_support::fail_each(
        plain, call, 199, [&](const auto& rank, const auto& /*report*/, const std::string& where) {
          EXPECT_EQ(rank.code, "injected") << where;
          expect_nothing_left(rank, where);
          named_the_encoder += rank.message.find("text_encoder") != std::string::npos ? 1U : 0U;
        });
  }
  EXPECT_GT(named_the_encoder, 0U);
}

// A copy of the checkpoint whose encoder has a layer more in its configuration than in its file.
TEST(PromptRun, EncoderThatLacksTensors_IsRefusedByStrictCoverageBesideAPlan) {
  const auto folder = platform::Path(testing::TempDir()) / "dlo_prompt_run";
  std::filesystem::remove_all(folder);
  std::filesystem::copy(DLO_GOLDEN_CHECKPOINT, folder, std::filesystem::copy_options::recursive);
  const auto file = folder / "text_encoder" / "config.json";
  std::ifstream in(file);
  auto config = nlohmann::json::parse(in);
  config["num_layers"] = 4;
  std::ofstream(file) << config;
  auto request = prompted(Mode::kStaged, 1);
  request.model.checkpoint = folder;
  const auto report = run_alone(request);
  EXPECT_EQ(report.code, "missing_tensor");
  EXPECT_NE(report.message.find("text_encoder.encoder.block.3"), std::string::npos)
      << report.message;
  request.requests.prompt_token_count = 0;
  EXPECT_EQ(run_alone(request).outcome, Outcome::kRuns) << "nobody asks for the encoder";
  std::filesystem::remove_all(folder);
}

TEST(PromptRun, EncoderInAnotherDtypeThanStored_IsConvertedAsOrdinaryTensorsAre) {
  for (const auto mode : {Mode::kResident, Mode::kAllGather}) {
    auto request = prompted(mode, 2);
    request.model.runtime_dtype = DType::kBF16;
    request.model.compute_dtype = DType::kBF16;
    const auto report = run_on_threads(2, request).front();
    EXPECT_EQ(report.outcome, Outcome::kRuns) << report.message;
    EXPECT_EQ(report.output_digest, run_on_threads(2, request).front().output_digest);
  }
}

TEST(PromptRun, TimedForwards_TakeNoPrompt) {
  auto request = prompted(Mode::kRankLocal, 1);
  request.throughput.emplace();
  request.throughput->arms.push_back({.name = "one", .options = request.options});
  const auto report = run_alone(request);
  EXPECT_EQ(report.outcome, Outcome::kRejected);
  EXPECT_EQ(report.code, "invalid_value");
}

}  // namespace
}  // namespace dlo::engine
