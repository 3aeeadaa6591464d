#include "harness/gate/gate_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "platform/posix/child_process.h"

namespace dlo::harness {
namespace {

using platform::ChildProcess;
using platform::Path;

// mpirun ends its ranks itself when it is asked to, and removes its files.
constexpr Nanoseconds kEndGrace = 10 * kSecond;
// Ranks that are about to end by themselves when mpirun is through.
constexpr Nanoseconds kOrphanGrace = 2 * kSecond;
constexpr std::uint64_t kOutputBytesMax = 64 * kMiB;
constexpr std::size_t kLastWordsBytes = 2000;
constexpr int kFolderDepthMax = 8;
constexpr std::string_view kSharedPrefix = "dlo-gate-";

// One compute thread a rank; root's containers; a place of its own for shared memory. Ranks that
// left a collective must not finalise MPI: that alone is no failure, their exit code counts.
std::vector<std::pair<std::string, std::string>> job_environment(const Path& shared_memory) {
  std::vector<std::pair<std::string, std::string>> environment{
      {"OMP_NUM_THREADS", "1"},
      {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
      {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
      {"OMPI_MCA_orte_allowed_exit_without_sync", "1"}};
  if (!shared_memory.empty()) {
    environment.emplace_back("OMPI_MCA_btl_vader_backing_directory", shared_memory.string());
    environment.emplace_back("TMPDIR", shared_memory.string());
    environment.emplace_back(kSharedMemoryVariable, shared_memory.string());
  }
  return environment;
}

// Files below `folder`; empty folders are not what anybody waits for.
void list_files(const platform::FileSystem& files, const Path& folder, int depth,
                std::vector<std::string>& found) {
  const Result<std::vector<std::string>> names = files.list(folder);
  if (!names.ok() || depth > kFolderDepthMax) {
    return;
  }
  for (const std::string& name : *names) {
    const Path path = folder / name;
    const Result<platform::FileInfo> info = files.stat(path);
    if (info.ok() && info->kind == platform::FileKind::kDirectory) {
      list_files(files, path, depth + 1, found);
    } else {
      found.push_back(path.string());
    }
  }
}

std::string last_words(const platform::FileSystem& files, const Path& output) {
  Result<std::string> text = files.read_text(output, kOutputBytesMax);
  if (!text.ok()) {
    return text.refusal().message();
  }
  if (text->size() > kLastWordsBytes) {
    return "... " + text->substr(text->size() - kLastWordsBytes);
  }
  return *text;
}

std::vector<int> end_orphans(ChildProcess& child, platform::Clock& clock) {
  static_cast<void>(child.wait_for_members(Deadline::after(clock.now(), kOrphanGrace)));
  return child.end(0);
}

void wait_for_end(ChildProcess& child, const GateSettings& settings, platform::Clock& clock,
                  JobFacts& facts) {
  auto end = child.wait(Deadline::after(clock.now(), settings.job_timeout));
  facts.timed_out = !end.has_value();
  if (facts.timed_out) {
    static_cast<void>(child.end(kEndGrace));
    end = child.wait(Deadline::after(clock.now(), 0));
  } else {
    facts.orphans = end_orphans(child, clock);
  }
  facts.succeeded = end.has_value() && end->signal == 0 && end->exit_code == 0;
  facts.ended = end.has_value() ? end->text() : "does not end";
}

void read_folder(const GateJob& job, const Path& folder, const platform::FileSystem& files,
                 JobFacts& facts) {
  if (auto results = read_results(files, folder); results.ok()) {
    facts.results = *std::move(results);
  }
  for (int rank = 0; rank < job.ranks; ++rank) {
    if (auto verdict = read_verdict(files, folder, rank); verdict.ok()) {
      facts.verdicts.push_back(*std::move(verdict));
    }
  }
}

}  // namespace

std::vector<std::string> job_command(const GateJob& job, const GateSettings& settings) {
  std::vector<std::string> words{settings.mpirun.string(), "-q", "--oversubscribe", "--bind-to",
                                 "none"};
  // Without it mpirun ends the survivors of a killed rank; with it a stopped rank keeps it waiting.
  if (job.crash && job.own_scenario().platform.crash->kind == platform::CrashKind::kDies) {
    words.emplace_back("--enable-recovery");
  }
  words.insert(words.end(), {"-np", std::to_string(job.ranks), settings.program.string()});
  if (job.own) {
    words.insert(words.end(),
                 {"run", job.own_scenario().file.string(), "--instance", job.own_scenario().name});
  } else {
    words.emplace_back("sweep");
    for (const Path& path : settings.scenarios) {
      words.push_back(path.string());
    }
  }
  words.insert(words.end(), {"--out", (settings.out / job.folder()).string(), "--seed",
                             std::to_string(settings.seed)});
  return words;
}

Path shared_memory_folder(platform::FileSystem& files, const Path& parent) {
  const Result<std::vector<std::string>> names = files.list(parent);
  if (!names.ok()) {
    return {};
  }
  for (const std::string& name : *names) {
    const std::string number = name.substr(std::min(kSharedPrefix.size(), name.size()));
    const bool ours = name.starts_with(kSharedPrefix) && !number.empty() &&
                      number.find_first_not_of("0123456789") == std::string::npos;
    if (ours && !platform::process_exists(std::atoi(number.c_str()))) {
      static_cast<void>(files.remove_tree(parent / name));
    }
  }
  return parent / fmt::format("{}{}", kSharedPrefix, platform::own_process_id());
}

JobFacts run_job(const GateJob& job, const GateSettings& settings, const GateSeams& seams) {
  JobFacts facts;
  facts.command = job_command(job, settings);
  const Path folder = settings.out / job.folder();
  const Path shared = settings.shared_memory;
  const Status made = seams.files.make_directories(folder);
  const Status shared_made = shared.empty() ? Status{} : seams.files.make_directories(shared);
  if (!made.ok() || !shared_made.ok()) {
    facts.ended = (made.ok() ? shared_made : made).refusal().message();
    return facts;
  }
  const Path output = folder / "output.txt";
  const Nanoseconds begin = seams.clock.now();
  auto child = ChildProcess::start(
      {.words = facts.command, .environment = job_environment(shared), .output = output},
      seams.clock);
  if (!child.ok()) {
    facts.ended = child.refusal().message();
    return facts;
  }
  facts.started = true;
  wait_for_end(*child, settings, seams.clock, facts);
  facts.duration_s = static_cast<double>(seams.clock.now() - begin) / static_cast<double>(kSecond);
  if (!shared.empty()) {
    list_files(seams.files, shared, 0, facts.leftover_files);
    static_cast<void>(seams.files.remove_tree(shared));
  }
  read_folder(job, folder, seams.files, facts);
  facts.last_words = last_words(seams.files, output);
  // A job that broke off could not remove its models.
  static_cast<void>(seams.files.remove_tree(folder / "scratch"));
  return facts;
}

}  // namespace dlo::harness
