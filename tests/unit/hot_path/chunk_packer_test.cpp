// Goal: a packer has two chunks under way, finishes them in the order of their begin, and lets go
// of everything when it is cancelled or settled, whatever was begun; what fails, fails its chunk.
// Method: an executor that runs nothing before finish, one whose workers wait at a gate, and none.
#include "hot_path/chunk_packer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string_view>
#include <thread>

#include "base/codes.h"
#include "base/error.h"
#include "platform/cpu/thread_executor.h"
#include "platform/fault/faulting_executor.h"
#include "platform/posix/steady_clock.h"
#include "tests/support/gate.h"
#include "tests/support/sound_tensors.h"

namespace dlo::hot_path {
namespace {

using platform::ThreadExecutor;

constexpr std::uint64_t kChunkBytes = 2 * kMiB;  // four pieces
constexpr std::uint32_t kChunks = 3;

// One block of ones, packed into chunks of memory of its own.
class Packing {
 public:
  explicit Packing(platform::Executor* workers)
      : packer(std::make_unique<ChunkPacker>(sources(), tensors, workers)) {}

  [[nodiscard]] ChunkPacker::Job job(std::uint32_t chunk) {
    return {0, 0, chunk, ByteSpan(staging_).subspan(chunk * kChunkBytes, kChunkBytes)};
  }
  [[nodiscard]] ByteSpan both_first_chunks() {
    return ByteSpan(staging_).subspan(0, 2 * kChunkBytes);
  }
  // Every byte of the chunk is `value`.
  [[nodiscard]] bool holds(std::uint32_t chunk, int value) {
    const auto bytes = job(chunk).destination;
    return std::all_of(bytes.begin(), bytes.end(),
                       [value](std::byte byte) { return byte == static_cast<std::byte>(value); });
  }

  test::SoundTensors tensors;

 private:
  [[nodiscard]] StagedSources sources() {
    StagedSources made(1);
    made[0].push_back({PackTable({{0, file_.data(), file_.size()}}, file_.size()),
                       contracts::ShardLayout(file_.size(), 1, kChunkBytes)});
    return made;
  }

  std::vector<std::byte> file_ = std::vector<std::byte>(kChunks * kChunkBytes, std::byte{1});
  std::vector<std::byte> staging_ = std::vector<std::byte>(kChunks * kChunkBytes);

 public:
  std::unique_ptr<ChunkPacker> packer;  // goes first: it may be at the file
};

// Workers that do not begin before the gate is open.
class GatedExecutor final : public platform::Executor {
 public:
  explicit GatedExecutor(test_support::Gate& gate) : gate_(&gate) {}
  [[nodiscard]] std::size_t worker_count() const override { return threads_.worker_count(); }
  void start(platform::Batch& batch) override {
    task_ = [this, &task = *batch.task](std::size_t index) {
      gate_->pass();
      task(index);
    };
    inner_ = {&task_, batch.count, {}};
    threads_.start(inner_);
  }
  void finish(platform::Batch& /*batch*/) override { threads_.finish(inner_); }

 private:
  test_support::Gate* gate_;
  std::function<void(std::size_t)> task_;
  platform::Batch inner_;
  ThreadExecutor threads_{3};
};

TEST(ChunkPacker, Finish_PacksTheChunkThatWasBegunFirst) {
  ThreadExecutor alone(1);  // runs nothing before finish
  for (platform::Executor* workers :
       {static_cast<platform::Executor*>(nullptr), static_cast<platform::Executor*>(&alone)}) {
    Packing packing(workers);
    packing.packer->begin(packing.job(1));
    packing.packer->begin(packing.job(0));
    EXPECT_TRUE(packing.holds(0, 0) && packing.holds(1, 0)) << "begin() packs nothing itself";
    packing.packer->finish();
    EXPECT_TRUE(packing.holds(0, 0) && packing.holds(1, 1));
    packing.packer->begin(packing.job(2));
    packing.packer->finish();
    EXPECT_TRUE(packing.holds(0, 1) && packing.holds(2, 0));
    packing.packer->finish();
    EXPECT_TRUE(packing.holds(2, 1));
  }
}

TEST(ChunkPacker, ThirdBeginAndFinishOfNothing_AreLogicErrors) {
  Packing packing(nullptr);
  EXPECT_THROW(packing.packer->finish(), LogicError);
  packing.packer->begin(packing.job(0));
  packing.packer->begin(packing.job(1));
  EXPECT_THROW(packing.packer->begin(packing.job(2)), LogicError);
  packing.packer->finish_begun();
  EXPECT_TRUE(packing.holds(0, 1) && packing.holds(1, 1) && packing.holds(2, 0));
}

TEST(ChunkPacker, CancelBetweenBeginAndFinish_PacksNothingMoreAndStaysInStep) {
  test_support::Gate gate;
  GatedExecutor workers(gate);
  Packing packing(&workers);
  packing.packer->begin(packing.job(0));
  packing.packer->cancel();
  packing.tensors.sound.store(false);  // nobody asks any more
  gate.open();
  packing.packer->begin(packing.job(1));
  packing.packer->finish();
  packing.packer->finish();
  EXPECT_TRUE(packing.holds(0, 0) && packing.holds(1, 0));
  EXPECT_THROW(packing.packer->finish(), LogicError) << "each begin has had its finish";
}

TEST(ChunkPacker, Settle_EndsWhatWasBegunBeforeItsMemoryGoes) {
  ThreadExecutor workers(3);
  for (int round = 0; round < 20; ++round) {
    Packing packing(&workers);
    packing.packer->begin(packing.job(0));
    packing.packer->begin(packing.job(1));
    packing.tensors.sound.store(false);
    packing.packer->settle();
    EXPECT_THROW(packing.packer->finish(), LogicError) << "nothing is left begun";
  }
}

TEST(ChunkPacker, DestroyedBeforeAFinish_SettlesItself) {
  ThreadExecutor workers(3);
  for (int round = 0; round < 20; ++round) {
    Packing packing(&workers);
    packing.packer->begin(packing.job(0));
  }
}

TEST(ChunkPacker, AwaitQuiet_CancelsAndDoesNotWaitForWorkersThatAreAtNoPiece) {
  platform::SteadyClock clock;
  test_support::Gate gate;
  GatedExecutor workers(gate);
  Packing packing(&workers);
  packing.packer->begin(packing.job(0));
  EXPECT_TRUE(packing.packer->await_quiet(clock, Deadline::after(clock.now(), 30 * kSecond)));
  gate.open();
  packing.packer->finish();
  EXPECT_TRUE(packing.holds(0, 0)) << "nothing was packed behind it";
}

// A thread that is inside a finish until the gate is open: it asks whether the files are whole.
class FinishAtAGate {
 public:
  explicit FinishAtAGate(Packing& packing) {
    packing.tensors.when_asked = [this] {
      inside_.store(true);
      gate_.pass();
      past_.store(true);
    };
    packing.packer->begin(packing.job(0));
    thread_ = std::thread([&packing] { packing.packer->finish(); });
    while (!inside_.load()) {
      std::this_thread::yield();
    }
  }
  ~FinishAtAGate() {
    open();
    thread_.join();
  }
  FinishAtAGate(const FinishAtAGate&) = delete;
  FinishAtAGate& operator=(const FinishAtAGate&) = delete;

  void open() { gate_.open(); }
  [[nodiscard]] bool past() const { return past_.load(); }

 private:
  test_support::Gate gate_;
  std::atomic<bool> inside_{false};
  std::atomic<bool> past_{false};
  std::thread thread_;
};

// Every piece is packed, the call is not over: what it still asks must not go.
TEST(ChunkPacker, AwaitQuiet_CallThatIsUnderWay_IsFalsePastTheDeadlineAndTrueBehindIt) {
  platform::SteadyClock clock;
  Packing packing(nullptr);
  FinishAtAGate finish(packing);
  EXPECT_FALSE(packing.packer->await_quiet(clock, Deadline::after(clock.now(), 0)));
  finish.open();
  EXPECT_TRUE(packing.packer->await_quiet(clock, Deadline::after(clock.now(), 30 * kSecond)));
  EXPECT_TRUE(finish.past());
}

TEST(ChunkPacker, Settle_WaitsForACallThatIsUnderWay) {
  Packing packing(nullptr);
  FinishAtAGate finish(packing);
  std::atomic<bool> settling{false};
  bool was_past = false;
  std::thread settle([&] {
    settling.store(true);
    packing.packer->settle();
    was_past = finish.past();
  });
  while (!settling.load()) {
    std::this_thread::yield();
  }
  platform::SteadyClock().sleep(20 * kMillisecond);  // time for a settle that does not wait
  finish.open();
  settle.join();
  EXPECT_TRUE(was_past);
}

TEST(ChunkPacker, CallsBehindQuietAndSettle_AskForNothingAndPackNothing) {
  platform::SteadyClock clock;
  Packing packing(nullptr);
  packing.packer->begin(packing.job(0));
  ASSERT_TRUE(packing.packer->await_quiet(clock, Deadline::after(clock.now(), 0)));
  packing.packer->settle();
  bool asked = false;
  packing.tensors.when_asked = [&asked] { asked = true; };
  packing.packer->begin(packing.job(1));
  packing.packer->finish();
  EXPECT_FALSE(asked);
  EXPECT_TRUE(packing.holds(0, 0) && packing.holds(1, 0));
}

TEST(ChunkPacker, PieceThatThrows_FailsItsFinishAndIsOver) {
  platform::SteadyClock clock;
  for (const std::size_t workers : {1U, 3U}) {
    ThreadExecutor threads(workers);
    Packing packing(&threads);
    auto beyond = packing.job(kChunks - 1);  // twice as long as what is left of the block
    beyond.destination = packing.both_first_chunks();
    packing.packer->begin(beyond);
    EXPECT_THROW(packing.packer->finish(), LogicError);
    EXPECT_TRUE(packing.packer->await_quiet(clock, Deadline::after(clock.now(), 0)));
  }
}

TEST(ChunkPacker, WorksAhead_WithWorkersBesideTheFinishingThreadAlone) {
  ThreadExecutor one(1);
  ThreadExecutor two(2);
  EXPECT_FALSE(Packing(nullptr).packer->works_ahead());
  EXPECT_FALSE(Packing(&one).packer->works_ahead());
  EXPECT_TRUE(Packing(&two).packer->works_ahead());
}

TEST(ChunkPacker, FileThatShrinks_FailsTheChunkThatIsFinishedByName) {
  ThreadExecutor workers(3);
  Packing packing(&workers);
  packing.packer->begin(packing.job(2));
  packing.packer->begin(packing.job(1));
  packing.tensors.sound.store(false);
  try {
    packing.packer->finish();
    FAIL() << "a truncated source was packed";
  } catch (const RunError& error) {
    EXPECT_EQ(error.code(), codes::kMappingTruncated);
    EXPECT_NE(std::string_view(error.what()).find("chunk 2 of"), std::string_view::npos)
        << error.what();
  }
  EXPECT_THROW(packing.packer->finish(), RunError) << "the other one has a finish of its own";
}

// Refuses the second submission.
class SecondRefused {
 public:
  [[nodiscard]] platform::Executor* executor() { return &workers_; }

 private:
  static platform::FaultPlan plan() {
    platform::FaultRule rule;
    rule.call = platform::SeamCall::kSubmit;
    rule.nth = 2;
    return {.rules = {rule}, .seed = 1};
  }

  platform::FaultPlan plan_ = plan();
  platform::FaultInjector injector_{plan_, 0};
  ThreadExecutor threads_{2};
  platform::FaultingExecutor workers_{threads_, injector_};
};

TEST(ChunkPacker, SubmissionThatIsRefused_IsNotBegunAndLeavesTheOtherOne) {
  SecondRefused workers;
  Packing packing(workers.executor());
  packing.packer->begin(packing.job(0));
  EXPECT_THROW(packing.packer->begin(packing.job(1)), RunError);
  packing.packer->finish();
  EXPECT_TRUE(packing.holds(0, 1) && packing.holds(1, 0));
  EXPECT_THROW(packing.packer->finish(), LogicError);
}

TEST(ChunkPacker, BeginThatIsRefused_TheChunkBeforeIsFinishedAndItsRefusalComesFirst) {
  for (const bool sound : {true, false}) {
    SecondRefused workers;
    Packing packing(workers.executor());
    packing.packer->begin(packing.job(0));
    packing.tensors.sound.store(sound);
    try {
      packing.packer->begin_and_finish_before(packing.job(1));
      FAIL() << "nothing was refused";
    } catch (const RunError& error) {
      EXPECT_EQ(error.code() == codes::kMappingTruncated, !sound) << error.what();
    }
    EXPECT_TRUE(packing.holds(0, 1) && packing.holds(1, 0));
    EXPECT_THROW(packing.packer->finish(), LogicError) << "nothing is left begun";
  }
}

}  // namespace
}  // namespace dlo::hot_path
