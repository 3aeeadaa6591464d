// Goal: `dlo gate` passes what is right, closes on what is not, ends every job by its deadline, and
// leaves neither a process nor shared memory; ranks that are lost under real mpirun are named by
// every survivor. Method: the program itself on small scenarios; a job that hangs is a script in
// the place of mpirun.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>

#include "tests/mpi/harness/dlo_process.h"

namespace dlo::harness::e2e {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kModel = R"("model": {"preset": "wan_tiny", "blocks": 2},
  "requests": {"count": 2, "steps": 1, "text_tokens": 8})";

std::string lost_rank(const std::string& name, const std::string& transfer,
                      const std::string& fault) {
  return R"({"name": ")" + name + R"(", )" + kModel + R"(, "topology": {"dp": 2}, "transfer": ")" +
         transfer + R"(", "faults": )" + fault +
         R"(, "expect": [{"outcome": "fails_closed", "code": "peer_failed"}]})";
}

std::string small_matrix(const std::string& outcome) {
  return std::string(R"({"name": "tiny", )") + kModel +
         R"(, "matrix": {"dp": [2], "transfer": ["resident", "all_gather"]},
             "compare_with": "resident", "expect": [{"outcome": )" +
         outcome + "}]}";
}

std::string read_all(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

json gate_of(const fs::path& out) {
  return json::parse(read_all(out / "gate.json"));
}

const json& job_of(const json& gate, const std::string& name) {
  const json& jobs = gate.at("jobs");
  const auto found = std::find_if(jobs.begin(), jobs.end(),
                                  [&name](const json& job) { return job.at("name") == name; });
  if (found == jobs.end()) {
    throw std::runtime_error("no job is called " + name);
  }
  return *found;
}

// Living processes whose command line has `part`: the ranks and their mpirun name the test's
// folder.
std::string processes_with(const std::string& part) {
  std::string found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string pid = entry.path().filename().string();
    if (std::isdigit(static_cast<unsigned char>(pid.front())) == 0) {
      continue;
    }
    std::string words = read_all(entry.path() / "cmdline");
    std::replace(words.begin(), words.end(), '\0', ' ');
    // The shell that runs the test's own command is gone by now; this program names no folder.
    if (words.find(part) != std::string::npos) {
      found += pid + " " + words + "\n";
    }
  }
  return found;
}

std::string gate_folders_in_shared_memory() {
  std::string found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/dev/shm", error)) {
    const std::string name = entry.path().filename().string();
    const bool ours = name.starts_with("dlo-gate-");
    if (ours && !fs::exists("/proc/" + name.substr(std::string("dlo-gate-").size()))) {
      found += name + "\n";
    }
  }
  return found;
}

void expect_nothing_left(const Workplace& place) {
  EXPECT_EQ(processes_with(place.path("").string()), "");
  EXPECT_EQ(gate_folders_in_shared_memory(), "");
}

JobResult gate(const Workplace& place, const std::string& arguments) {
  return place.run_plain("gate --out " + place.path("out").string() + " " + arguments);
}

void expect_one_line(const JobResult& job, int exit_code, const std::string& part) {
  EXPECT_EQ(job.exit_code, exit_code) << job.text();
  ASSERT_EQ(job.error_lines().size(), 1U) << job.text();
  EXPECT_NE(job.err.find(part), std::string::npos) << job.text();
}

TEST(Gate, SweepKillAndStop_PassesAndLeavesNothing) {
  const Workplace place;
  const std::string tiny = place.write("tiny.json", small_matrix(R"("runs")"));
  const std::string killed = place.write(
      "killed.json", lost_rank("killed", "all_gather",
                               R"({"rank_dies": {"rank": 1, "where": "in_gather", "nth": 3}})"));
  const std::string stopped = place.write(
      "stopped.json", lost_rank("stopped", "all_gather",
                                R"({"rank_stops": {"rank": 0, "where": "before_gather"}})"));
  const JobResult ran = gate(place, "--worlds 2 " + tiny + " " + killed + " " + stopped);
  ASSERT_EQ(ran.exit_code, 0) << ran.text();
  const json result = gate_of(place.path("out"));
  EXPECT_EQ(result.at("passed"), true);
  EXPECT_EQ(result.at("jobs").size(), 3U);
  EXPECT_EQ(result.at("faults").at("ended_by_name"), 2);
  EXPECT_EQ(result.at("faults").at("hung"), 0);
  EXPECT_EQ(result.at("faults").at("leaked"), 0);
  EXPECT_EQ(job_of(result, "killed").at("ranks").at(0).at("code"), "peer_failed");
  EXPECT_EQ(job_of(result, "stopped").at("ranks").at(1).at("code"), "peer_failed");
  EXPECT_NE(job_of(result, "stopped").at("ended"), "exit code 0");
  const std::string xml = read_all(place.path("out") / "gate.xml");
  EXPECT_NE(xml.find(R"(failures="0")"), std::string::npos) << xml;
  EXPECT_TRUE(fs::exists(place.path("out") / "gate.md"));
  expect_nothing_left(place);
}

TEST(Gate, EveryPlaceWhereARankIsKilled_IsNamedByItsPeer) {
  const Workplace place;
  const JobResult ran =
      gate(place, std::string("--worlds 2 ") + DLO_FAULT_SCENARIOS + "/rank_killed.json " +
                      DLO_FAULT_SCENARIOS + "/replica_killed.json");
  ASSERT_EQ(ran.exit_code, 0) << ran.text();
  const json result = gate_of(place.path("out"));
  EXPECT_EQ(result.at("faults").at("injected"), 6);
  EXPECT_EQ(result.at("faults").at("ended_by_name"), 6);
  const json& replica = job_of(result, "replica_killed/where=copy");
  EXPECT_EQ(replica.at("ranks").at(0).at("part"), "independent");
  EXPECT_EQ(replica.at("ranks").at(0).at("outcome"), "runs");
  expect_nothing_left(place);
}

TEST(Gate, PlannedFaults_AreSurvivedOrEndByName) {
  const Workplace place;
  std::string files;
  for (const char* name :
       {"copy_fails", "device_out_of_memory", "exchange_fails", "gather_fails",
        "one_rank_cannot_pin", "schedule_differs", "slow_disk", "slow_link", "slow_rank"}) {
    files += std::string(" ") + DLO_FAULT_SCENARIOS + "/" + name + ".json";
  }
  const JobResult ran = gate(place, "--worlds 2" + files);
  ASSERT_EQ(ran.exit_code, 0) << ran.text();
  const json faults = gate_of(place.path("out")).at("faults");
  EXPECT_EQ(faults.at("injected").get<int>(),
            faults.at("survived").get<int>() + faults.at("ended_by_name").get<int>());
  EXPECT_GT(faults.at("survived"), 0);
  EXPECT_GT(faults.at("ended_by_name"), 0);
  EXPECT_EQ(faults.at("leaked"), 0);
}

TEST(Gate, ExpectationThatDoesNotHold_ClosesIt) {
  const Workplace place;
  const std::string tiny =
      place.write("tiny.json", small_matrix(R"("falls_back", "code": "pin_disabled")"));
  const JobResult ran = gate(place, "--worlds 2 " + tiny);
  EXPECT_EQ(ran.exit_code, 1) << ran.text();
  const json result = gate_of(place.path("out"));
  EXPECT_EQ(result.at("passed"), false);
  EXPECT_NE(read_all(place.path("out") / "gate.xml").find("<failure"), std::string::npos);
  EXPECT_NE(ran.err.find("expected falls_back (pin_disabled), got runs"), std::string::npos)
      << ran.text();
}

TEST(Gate, CrashThatIsNeverMet_ClosesIt) {
  const Workplace place;
  // No gather without AllGather: the fault has no place to strike.
  const std::string file = place.write(
      "never.json",
      lost_rank("never", "rank_local", R"({"rank_dies": {"rank": 1, "where": "in_gather"}})"));
  const JobResult ran = gate(place, "--worlds 2 " + file);
  EXPECT_EQ(ran.exit_code, 1) << ran.text();
  EXPECT_NE(ran.err.find("rank 1 never came to the place"), std::string::npos) << ran.text();
}

TEST(Gate, JobThatHangs_IsEndedWithAllItStarted) {
  const Workplace place;
  const std::string tiny = place.write("tiny.json", small_matrix(R"("runs")"));
  // A rank that is stopped, in a process group of its own, below an mpirun that waits for ever.
  const std::string script =
      place.write("mpirun", "#!/bin/sh\nset -m\nsh -c 'kill -STOP $$' " +
                                place.path("rank").string() + " &\nexec sleep 600\n");
  fs::permissions(script, fs::perms::owner_all);
  const JobResult ran = gate(place, "--worlds 2 --job-timeout 1 --mpirun " + script + " " + tiny);
  EXPECT_EQ(ran.exit_code, 1) << ran.text();
  const json result = gate_of(place.path("out"));
  EXPECT_EQ(result.at("jobs").at(0).at("timed_out"), true);
  EXPECT_EQ(result.at("faults").at("hung"), 1);
  expect_nothing_left(place);
}

TEST(Gate, JobThatLeavesAProcess_ClosesIt) {
  const Workplace place;
  const std::string tiny = place.write("tiny.json", small_matrix(R"("runs")"));
  const std::string script = place.write(
      "mpirun", "#!/bin/sh\nsh -c 'sleep 600; :' " + place.path("rank").string() + " &\n");
  fs::permissions(script, fs::perms::owner_all);
  const JobResult ran = gate(place, "--worlds 2 --mpirun " + script + " " + tiny);
  EXPECT_EQ(ran.exit_code, 1) << ran.text();
  const json result = gate_of(place.path("out"));
  EXPECT_FALSE(result.at("jobs").at(0).at("orphans").empty());
  EXPECT_EQ(result.at("faults").at("leaked"), 1);
  expect_nothing_left(place);
}

TEST(GateBadInput, MpirunThatIsMissing_IsWhatTheMachineLacks) {
  const Workplace place;
  const std::string tiny = place.write("tiny.json", small_matrix(R"("runs")"));
  expect_one_line(gate(place, "--mpirun /no/such/mpirun " + tiny), 3, "/no/such/mpirun");
  EXPECT_FALSE(fs::exists(place.path("out")));
}

TEST(GateBadInput, UnknownScenario_IsNamed) {
  const Workplace place;
  expect_one_line(gate(place, "/no/such/scenario.json"), 1, "/no/such/scenario.json");
  EXPECT_FALSE(fs::exists(place.path("out")));
}

TEST(GateBadInput, OutThatCannotBeWritten_IsRefusedBeforeAnythingStarts) {
  const Workplace place;
  const std::string tiny = place.write("tiny.json", small_matrix(R"("runs")"));
  static_cast<void>(place.write("out", "a file, not a folder"));
  expect_one_line(gate(place, "--worlds 2 " + tiny), 1, place.path("out").string());
}

TEST(GateBadInput, WorldsThatAreNone_AreUsage) {
  const Workplace place;
  const std::string tiny = place.write("tiny.json", small_matrix(R"("runs")"));
  expect_one_line(gate(place, "--worlds 0 " + tiny), 2, "--worlds");
  // The scenario needs two ranks.
  expect_one_line(gate(place, "--worlds 1 " + tiny), 2, "world_too_small");
}

TEST(GateBadInput, GateUnderMpirun_IsUsage) {
  const Workplace place;
  const JobResult ran = place.run_ranks(2, "gate --out " + place.path("out").string());
  expect_one_line(ran, 2, "dlo gate starts mpirun itself");
}

}  // namespace
}  // namespace dlo::harness::e2e
