#include "engine/simulation/file_fault_loop.h"

#include <fmt/format.h>

#include <map>

#include "base/codes.h"
#include "base/sha256.h"
#include "host_weights/plan_consumer.h"
#include "host_weights/safetensors/inspect.h"
#include "host_weights/seeded_checkpoint/seeded_checkpoint.h"
#include "host_weights/seeded_checkpoint/wan_tensors.h"
#include "platform/fault/fail_nth.h"
#include "platform/fault/faulting_device.h"
#include "platform/fault/faulting_executor.h"
#include "platform/fault/faulting_file_system.h"

namespace dlo::engine {

namespace {

using platform::FaultPlan;
using platform::Path;
using platform::SeamCall;

constexpr const char* kPreset = "wan_tiny";
constexpr std::uint64_t kSeed = 7;
// Two shard files and their index.
constexpr std::uint64_t kShardBytes = 100 * kKiB;
constexpr std::uint64_t kNever = UINT64_MAX;

// A plan that strikes nothing: an executor without any rule would not count its calls.
FaultPlan undisturbed() {
  platform::FaultRule rule;
  rule.nth = kNever;
  return {.rules = {rule}};
}

// The seams of one run, with its faults.
struct FaultySeams {
  FaultySeams(const FileLoopSeams& seams, const FaultPlan& plan)
      : injector(plan, 0), files(seams.files, injector, {}), executor(seams.executor, injector) {}

  platform::FaultInjector injector;
  platform::FaultingFileSystem files;
  platform::FaultingExecutor executor;
};

// Ends with the refusal, or with what was thrown in its place.
template <typename Step>
Status guarded(const Step& step) {
  try {
    return step();
  } catch (const RunError& error) {
    return error.refusal();
  }
}

SimulatedVerdict verdict_of(const Status& status, const platform::FaultInjector& injector) {
  SimulatedVerdict verdict;
  verdict.ranks.resize(1);
  auto& rank = verdict.ranks.front();
  rank.strike_count = injector.strike_count();
  rank.struck_code = injector.first_code();
  rank.strikes = injector.strikes();
  rank.sites = injector.sites();
  if (status.ok()) {
    return verdict;
  }
  rank.code = status.refusal().code;
  rank.message = status.refusal().message();
  if (rank.code != rank.struck_code && rank.struck_code != codes::kFileNotFound) {
    verdict.violation =
        fmt::format("ended with {} where {} struck: {}", rank.code, rank.struck_code, rank.message);
  }
  return verdict;
}

class FileLoop {
 public:
  explicit FileLoop(const FileLoopSeams& seams)
      : seams_(seams), target_(seams.folder / "made"), kept_(seams.folder / "kept") {
    const auto preset = host_weights::wan_preset(kPreset);
    dit_.name = "transformer";
    for (const auto& tensor : host_weights::wan_tensors(preset->shape)) {
      dit_.non_block.tensors.push_back({"transformer." + tensor.name,
                                        contracts::TensorKind::kParameter,
                                        DType::kF32,
                                        tensor.shape,
                                        {}});
    }
    require_ok(make(seams_.files, seams_.executor, kept_));
    wanted_folder_ = folder_digest(kept_);
    auto read = read_all(seams_.files, seams_.executor, *seams_.make_device());
    require(read.ok(), "a checkpoint cannot be read without faults");
    wanted_tensors_ = *read;
    wanted_mapped_ = *read_mapped(seams_.files, seams_.executor, *seams_.make_device()).digest;
    // Which calls there are at all.
    const auto steady = undisturbed();
    for (const auto& verdict : {write_once(steady), read_once(steady), map_once(steady)}) {
      require(verdict.ok(), "a checkpoint cannot be made twice");
    }
  }

  FaultSummary run() {
    RunCounts counts(seams_.count);
    for (std::size_t index = 0; index < platform::kSeamCallCount; ++index) {
      const auto call = static_cast<SeamCall>(index);
      if (calls_[call] == 0) {
        continue;
      }
      for (const auto code : natural_codes(call)) {
        platform::FaultRule rule;
        rule.call = call;
        rule.code = code;
        fail(rule, "writing", counts, [this](const FaultPlan& plan) { return write_once(plan); });
        fail(rule, "reading", counts, [this](const FaultPlan& plan) { return read_once(plan); });
        fail(rule, "mapping", counts, [this](const FaultPlan& plan) { return map_once(plan); });
      }
    }
    fail_removals(counts);
    require_ok(seams_.files.remove_tree(kept_));
    return std::move(summary_);
  }

 private:
  // What is removed is only ever a file that could not be finished: each one in its turn.
  void fail_removals(RunCounts& counts) {
    platform::FaultRule unfinished;
    unfinished.call = SeamCall::kFileSync;
    for (unfinished.nth = 1; unfinished.nth <= calls_[unfinished.call]; ++unfinished.nth) {
      platform::FaultRule removal;
      removal.call = SeamCall::kFileRemove;
      fail(removal, "tidying up", counts, [&](FaultPlan plan) {
        plan.rules.push_back(unfinished);
        return write_once(plan);
      });
    }
  }

  template <typename Attempt>
  void fail(const platform::FaultRule& rule, const char* what, RunCounts& counts,
            const Attempt& attempt) {
    platform::fail_every_nth(rule, [&](const FaultPlan& plan) {
      auto verdict = attempt(plan);
      counts.look(verdict);
      const bool met = std::exchange(struck_, false);
      static_cast<void>(summary_.book(
          verdict, fmt::format("{} a checkpoint, call {} of {} ({})", what, plan.rules[0].nth,
                               seam_call_name(rule.call), rule.code)));
      return met;
    });
  }

  static void require_ok(const Status& status) {
    require(status.ok(), "the loop over file calls needs a folder that works");
  }

  Status make(platform::FileSystem& files, platform::Executor& executor, const Path& out) const {
    host_weights::SeededCheckpointOptions options;
    options.preset = kPreset;
    options.seed = kSeed;
    options.dtype = host_weights::StoredDType::kF32;
    options.out = out;
    options.shard_bytes = kShardBytes;
    const auto made = host_weights::create_seeded_checkpoint(files, executor, options);
    return made.ok() ? Status{} : Status{made.refusal()};
  }

  SimulatedVerdict write_once(const FaultPlan& plan) {
    FaultySeams faulty(seams_, plan);
    const Status status = guarded([&] { return make(faulty.files, faulty.executor, target_); });
    note_strike(plan, faulty.injector);
    auto verdict = verdict_of(status, faulty.injector);
    const bool there = seams_.files.stat(target_).ok();
    if (verdict.ok() && there != status.ok() && !late_failure(faulty.injector)) {
      verdict.violation = there ? "a refused checkpoint is there" : "a made checkpoint is missing";
    }
    if (verdict.ok() && there && folder_digest(target_) != wanted_folder_) {
      verdict.violation = "a visible checkpoint has wrong bytes";
    }
    require_ok(seams_.files.remove_tree(target_));
    const auto left = seams_.files.list(seams_.folder);
    for (const auto& name : *left) {
      if (name != kept_.filename()) {
        verdict.violation = "files are left: " + name;
        require_ok(seams_.files.remove_tree(seams_.folder / name));
      }
    }
    return verdict;
  }

  // The folder was renamed to its place, only the durability of that name is in doubt.
  static bool late_failure(const platform::FaultInjector& injector) {
    return injector.first_site() == platform::call_site(SeamCall::kFileSyncDirectory, "folder");
  }

  SimulatedVerdict read_once(const FaultPlan& plan) {
    return check_reader(
        plan,
        [this](const platform::FileSystem& files, platform::Executor& executor,
               platform::Device& device) -> Result<std::string> {
          const auto read = read_all(files, executor, device);
          return read.ok() ? Result<std::string>(*read == wanted_tensors_ ? "" : "wrong bytes")
                           : read;
        });
  }

  // A failure of the preflight is answered by the ordinary loader, any other one ends the start-up.
  SimulatedVerdict map_once(const FaultPlan& plan) {
    bool fell_back = false;
    auto verdict = check_reader(
        plan,
        [&](const platform::FileSystem& files, platform::Executor& executor,
            platform::Device& device) -> Result<std::string> {
          const auto mapped = read_mapped(files, executor, device);
          fell_back = mapped.fell_back;
          return mapped.digest.ok()
                     ? Result<std::string>(*mapped.digest == wanted_mapped_ ? "" : "wrong bytes")
                     : mapped.digest;
        });
    const auto& rank = verdict.ranks.front();
    if (verdict.ok() && rank.code.empty() && (rank.strike_count > 0) != fell_back) {
      verdict.violation = fell_back ? "the ordinary loader was used without a failure"
                                    : "a failing call went unnoticed";
    }
    return verdict;
  }

  // `read` gives a refusal, or what is wrong with what it read.
  template <typename Read>
  SimulatedVerdict check_reader(const FaultPlan& plan, const Read& read) {
    FaultySeams faulty(seams_, plan);
    const auto device =
        std::make_unique<platform::FaultingDevice>(seams_.make_device(), faulty.injector);
    std::string wrong;
    const Status status = guarded([&]() -> Status {
      const auto seen = read(faulty.files, faulty.executor, *device);
      if (!seen.ok()) {
        return seen.refusal();
      }
      wrong = *seen;
      return {};
    });
    note_strike(plan, faulty.injector);
    auto verdict = verdict_of(status, faulty.injector);
    if (verdict.ok() && !wrong.empty()) {
      verdict.violation = "a reader gives " + wrong;
    }
    if (verdict.ok() && (device->device_memory().now_bytes + device->pinned_memory().now_bytes +
                         device->pageable_memory().now_bytes) > 0) {
      verdict.violation = "buffers are left after loading";
    }
    return verdict;
  }

  struct MappedRead {
    Result<std::string> digest;  // over all tensors
    bool fell_back = false;
  };

  // Through preflight, plan and mapping, or what the loader does in their place.
  MappedRead read_mapped(const platform::FileSystem& files, platform::Executor& executor,
                         platform::Device& device) const {
    host_weights::WeightLoadRequest request;
    request.dits = {&dit_};
    request.sources = {{kept_, "transformer", "transformer.", {}}};
    auto loaded = host_weights::load_weights(files, device, executor, request);
    if (!loaded.ok()) {
      return {loaded.refusal()};
    }
    std::unique_ptr<contracts::HostTensors> tensors = std::move(loaded->tensors);
    if (loaded->plan.holds_plan()) {
      auto mapped = host_weights::consume_plan(files, device, loaded->plan.take(),
                                               {request.dits, nullptr, {}}, loaded->events);
      if (!mapped.ok()) {
        return {mapped.refusal()};
      }
      tensors = std::move(mapped).value();
    }
    Sha256 digest;
    for (const auto& spec : dit_.non_block.tensors) {
      tensors->for_each_run(spec.name,
                            [&](std::uint64_t, ConstByteSpan run) { digest.update(run); });
    }
    return {digest.hex_digest(), loaded->fallback.has_value()};
  }

  // One digest over all tensors, each read on both ways.
  Result<std::string> read_all(const platform::FileSystem& files, platform::Executor& executor,
                               platform::Device& device) const {
    const auto report = host_weights::inspect(files, executor, kept_);
    if (!report.ok()) {
      return report.refusal();
    }
    Sha256 digest;
    for (const auto& tensor : report->tensors) {
      digest.update(tensor.name + " " + tensor.sha256 + "\n");
    }
    host_weights::LoadRequest load;
    load.sources = {{kept_, "transformer", "transformer.", {}}};
    for (const auto& spec : dit_.non_block.tensors) {
      load.tensors.push_back(&spec);
    }
    const auto loaded = host_weights::load_ordinary(files, device, executor, load);
    if (!loaded.ok()) {
      return loaded.refusal();
    }
    for (const auto& spec : dit_.non_block.tensors) {
      digest.update(loaded->tensors->view(spec.name).bytes);
    }
    return digest.hex_digest();
  }

  // Names and bytes of all files below `folder`.
  [[nodiscard]] std::string folder_digest(const Path& folder) const {
    Sha256 digest;
    const auto names = seams_.files.list(folder);
    for (const auto& name : *names) {
      const Path path = folder / name;
      if (seams_.files.stat(path)->kind == platform::FileKind::kDirectory) {
        digest.update(name + " " + folder_digest(path) + "\n");
        continue;
      }
      const auto file = seams_.files.map_read_only(path);
      digest.update(name + " " + sha256_hex((*file)->bytes()) + "\n");
    }
    return digest.hex_digest();
  }

  // Whether the loop goes on: the first rule's n-th call was made.
  void note_strike(const FaultPlan& plan, const platform::FaultInjector& injector) {
    if (plan.rules.front().nth != kNever) {
      struck_ = injector.call_count(plan.rules.front().call) >= plan.rules.front().nth;
      return;
    }
    for (std::size_t call = 0; call < platform::kSeamCallCount; ++call) {
      calls_[static_cast<SeamCall>(call)] += injector.call_count(static_cast<SeamCall>(call));
    }
  }

  const FileLoopSeams& seams_;
  Path target_;
  Path kept_;
  contracts::DitSpec dit_;  // without blocks: a loader knows none
  std::string wanted_folder_;
  std::string wanted_tensors_;
  std::string wanted_mapped_;
  FaultSummary summary_;
  std::map<SeamCall, std::uint64_t> calls_;  // of an undisturbed writer and reader
  bool struck_ = false;
};

}  // namespace

FaultSummary fail_every_file_call(const FileLoopSeams& seams) {
  return FileLoop(seams).run();
}

}  // namespace dlo::engine
