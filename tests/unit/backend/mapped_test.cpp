// Goal: what enable(), a request and disable() do with tensors that lie in mapped files, and with
// blocks that are resident for a stage: what is pinned, what stays mapped, what is on the device
// when.
// Method: one rank on a recording device over a double of mapped tensors.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "synthetic/synthetic_mapping.h"
#include "tests/support/gate.h"
#include "tests/unit/backend/backend_fixture.h"

namespace dlo::backend {
namespace {

using platform::MemoryPurpose;
using platform::Site;

// A mapping that notices when it is asked whether its files are whole.
class AskedMapping final : public contracts::HostTensors {
 public:
  explicit AskedMapping(contracts::HostTensors& inner) : inner_(inner) {}
  [[nodiscard]] contracts::Backing backing() const override { return inner_.backing(); }
  [[nodiscard]] TensorView view(const std::string& name) const override {
    return inner_.view(name);
  }
  void for_each_run(const std::string& name, const contracts::RunSink& sink) const override {
    inner_.for_each_run(name, sink);
  }
  [[nodiscard]] bool intact() const noexcept override {
    if (when_asked) {
      when_asked();
    }
    return inner_.intact();
  }
  void release(const std::string& name) override { inner_.release(name); }
  [[nodiscard]] std::uint64_t held_bytes() const override { return inner_.held_bytes(); }

  std::function<void()> when_asked;  // on the asking thread, before the answer

 private:
  contracts::HostTensors& inner_;
};

class MappedFixture {
 public:
  explicit MappedFixture(const config::OffloadConfig& asked, bool gathers = false,
                         bool mapped = true)
      : config(asked),
        mapping(model.table(), model.seed()),
        private_tensors(model.table(), model.seed()),
        context(make_rank_context(0, 1, *signal)) {
    contracts::HostTensors& tensors = private_tensors;
    contracts::HostTensors& mapped_tensors = asked_mapping;
    backend = std::make_unique<OffloadBackend>(
        BackendRequest{.config = config,
                       .table = model.table(),
                       .host_tensors = mapped ? mapped_tensors : tensors,
                       .device = device,
                       .context = context,
                       .weight_control = gathers ? &group : nullptr,
                       .weight_communicator = gathers ? &communicator : nullptr,
                       .weight_axis = gathers ? GroupAxis::kData : GroupAxis::kNone,
                       .offload_plan = &offload_plan});
  }

  [[nodiscard]] std::uint64_t resident_bytes() const {
    return device.device_memory(MemoryPurpose::kResident).now_bytes;
  }
  void run(std::size_t ring) { model.run(device, ring, backend->observer(ring)); }

  config::OffloadConfig config;
  test::RecordingDevice device;
  synthetic::SyntheticModel model{synthetic::draw_shape(9, {3, 4})};
  synthetic::SyntheticMapping mapping;
  AskedMapping asked_mapping{mapping};
  synthetic::SyntheticTensors private_tensors;
  contracts::OffloadPlan offload_plan{.resident_dit_paths = {"ring1"}};
  std::unique_ptr<FailureSignal> signal = make_local_failure_signal();
  RankContext context;
  test::ScriptedGroup group{test::same_answer};
  test::RecordingCommunicator communicator{0, 2};
  std::unique_ptr<OffloadBackend> backend;
};

std::size_t streamed_tensors(const synthetic::SyntheticModel& model) {
  std::size_t count = 0;
  for (const auto& dit : model.table().dits) {
    for (const auto& block : dit.blocks) {
      count += block.tensors.size();
    }
  }
  return count;
}

TEST(MappedBacking, RankLocal_PinsTheStagingRingAloneAndKeepsTheStreamedTensorsMapped) {
  MappedFixture fixture(test::rank_local_config());
  ASSERT_TRUE(fixture.backend->enable().ok());
  const auto& memory = fixture.backend->memory_plan();
  EXPECT_EQ(fixture.backend->effective().transfer, contracts::Transfer::kStaged);
  EXPECT_EQ(fixture.device.pinned_memory().peak_bytes, memory.staging_bytes());
  EXPECT_LE(memory.staging_bytes(), 2 * memory.slot_bytes);
  EXPECT_EQ(fixture.mapping.mapped_count(), streamed_tensors(fixture.model));
  EXPECT_EQ(fixture.mapping.held_bytes(), 0U) << "no private copy of any tensor";
  fixture.run(0);
  fixture.run(1);
  EXPECT_TRUE(fixture.model.findings().clean()) << fixture.model.findings().first;
  EXPECT_TRUE(fixture.backend->disable().empty());
  EXPECT_EQ(fixture.mapping.mapped_count(), 0U) << "files close with the backend";
}

TEST(MappedBacking, AllGather_LetsEveryTensorGoWhileEnabling) {
  MappedFixture fixture(test::all_gather_config(), true);
  ASSERT_TRUE(fixture.backend->enable().ok());
  EXPECT_EQ(fixture.mapping.mapped_count(), 0U);
  EXPECT_EQ(fixture.mapping.held_bytes(), 0U);
  EXPECT_EQ(fixture.device.pinned_memory().now_bytes,
            fixture.backend->memory_plan().host_store_bytes);
}

TEST(MappedBacking, FileThatShrankBeforeEnable_IsRefusedByNameInEveryMode) {
  for (const bool gathers : {false, true}) {
    MappedFixture fixture(gathers ? test::all_gather_config() : test::rank_local_config(), gathers);
    fixture.mapping.truncate();
    const auto status = fixture.backend->enable();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.refusal().code, codes::kMappingTruncated);
    EXPECT_TRUE(fixture.model.untouched());
  }
}

TEST(MappedBacking, StagingThatCannotBePinned_IsRefusedWithNothingConsumed) {
  MappedFixture fixture(test::rank_local_config());
  const auto all = fixture.mapping.mapped_count();
  fixture.device.refuse_allocation(1);
  const auto status = fixture.backend->enable();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.refusal().code, codes::kPinFailed);
  EXPECT_EQ(fixture.mapping.mapped_count(), all);
}

TEST(MappedBacking, StreamThatDoesNotDrain_KeepsStagingAndMappingWithWhatMayReadThem) {
  MappedFixture fixture(test::rank_local_config());
  ASSERT_TRUE(fixture.backend->enable().ok());
  fixture.run(0);
  fixture.device.hang();
  EXPECT_FALSE(fixture.backend->disable().empty());
  EXPECT_TRUE(fixture.backend->abandoned_buffers());
  EXPECT_EQ(fixture.mapping.mapped_count(), streamed_tensors(fixture.model));
  EXPECT_EQ(fixture.device.pinned_memory().now_bytes,
            fixture.backend->memory_plan().staging_bytes());
}

// As on an accelerator that has failed: its streams say they are done while its thread packs.
TEST(MappedBacking, PackerThatIsBusyBehindDrainedStreams_KeepsStagingAndMapping) {
  MappedFixture fixture(test::rank_local_config());
  ASSERT_TRUE(fixture.backend->enable().ok());
  test_support::Gate gate;
  std::atomic<bool> inside{false};
  fixture.asked_mapping.when_asked = [&] {
    inside.store(true);
    gate.pass();
  };
  fixture.device.hold_host_functions();
  fixture.run(0);
  std::thread packing([&fixture] { fixture.device.run_held(); });
  while (!inside.load()) {
    std::this_thread::yield();
  }
  const auto problems = fixture.backend->disable();
  EXPECT_EQ(problems.size(), 1U);
  for (const auto& problem : problems) {
    EXPECT_NE(problem.find("packing thread is still busy"), std::string::npos) << problem;
  }
  EXPECT_TRUE(fixture.backend->abandoned_buffers());
  EXPECT_EQ(fixture.mapping.mapped_count(), streamed_tensors(fixture.model));
  EXPECT_EQ(fixture.device.pinned_memory().now_bytes,
            fixture.backend->memory_plan().staging_bytes());
  gate.open();
  packing.join();
}

config::OffloadConfig with_residents() {
  auto config = test::rank_local_config();
  config.dlo_resident_layers = 2;
  return config;
}

TEST(ResidentLayers, BeginAndEndOfARequest_BringAndDropThemOnce) {
  for (const bool mapped : {false, true}) {
    MappedFixture fixture(with_residents(), false, mapped);
    ASSERT_TRUE(fixture.backend->enable().ok());
    EXPECT_EQ(fixture.resident_bytes(), 0U) << "nothing before the stage";
    for (int request = 0; request < 2; ++request) {
      ASSERT_TRUE(fixture.backend->begin_request().ok());
      ASSERT_TRUE(fixture.backend->begin_request().ok());
      EXPECT_EQ(fixture.resident_bytes(), fixture.backend->memory_plan().resident_bytes);
      fixture.run(0);
      fixture.run(1);
      ASSERT_TRUE(fixture.backend->end_request().ok());
      ASSERT_TRUE(fixture.backend->end_request().ok());
      EXPECT_EQ(fixture.resident_bytes(), 0U) << "the decoder has the memory";
      EXPECT_TRUE(fixture.model.binding(1, 0).at_placeholder());
    }
    EXPECT_TRUE(fixture.model.findings().clean()) << fixture.model.findings().first;
    for (const auto& op : fixture.device.log()) {
      EXPECT_NE(op.label.site, Site::kOutput) << "never copied back";
    }
    EXPECT_TRUE(fixture.backend->disable().empty());
    EXPECT_TRUE(fixture.model.untouched());
  }
}

TEST(ResidentLayers, ForwardWithoutBeginRequest_IsPlaceholderRead) {
  MappedFixture fixture(with_residents());
  ASSERT_TRUE(fixture.backend->enable().ok());
  EXPECT_THROW(fixture.run(1), RunError);
}

TEST(ResidentLayers, NoMemoryAtTheStagesStart_IsRefusedAndTheNextAttemptWorks) {
  MappedFixture fixture(with_residents());
  ASSERT_TRUE(fixture.backend->enable().ok());
  fixture.device.refuse_allocation(2);
  const auto status = fixture.backend->begin_request();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.refusal().code, codes::kDeviceOutOfMemory);
  EXPECT_EQ(fixture.resident_bytes(), 0U);
  ASSERT_TRUE(fixture.backend->begin_request().ok());
  fixture.run(1);
  EXPECT_TRUE(fixture.model.findings().clean());
}

TEST(ResidentLayers, DisableInsideAStage_FreesThem) {
  MappedFixture fixture(with_residents());
  ASSERT_TRUE(fixture.backend->enable().ok());
  ASSERT_TRUE(fixture.backend->begin_request().ok());
  EXPECT_TRUE(fixture.backend->disable().empty());
  EXPECT_EQ(fixture.resident_bytes(), 0U);
  EXPECT_TRUE(fixture.model.untouched());
}

}  // namespace
}  // namespace dlo::backend
