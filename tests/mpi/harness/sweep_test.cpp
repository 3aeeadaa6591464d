// Goal: a sweep under mpirun is repeatable and judged: equal digests with one seed, other digests
// with another, a wrong expectation fails the job, larger topologies are skipped with a reason.
// Method: the real program on a small matrix.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/mpi/harness/dlo_process.h"

namespace dlo::harness::e2e {
namespace {

constexpr const char* kMatrix = R"({
  "name": "tiny",
  "model": {"preset": "wan_tiny", "blocks": 3},
  "requests": {"count": 3, "steps": 2, "text_tokens": 8},
  "matrix": {"dp": [1, 2, 4], "transfer": ["resident", "rank_local", "all_gather"],
             "backing": ["ordinary", "checkpoint_mmap"], "chunk_bytes": [4096]},
  "expect": [
    {"when": {"dp": 1, "transfer": "all_gather"},
     "outcome": "falls_back", "code": "group_size_one"},
    {"outcome": "runs"}
  ],
  "compare_with": "resident"
})";

nlohmann::json results_of(const std::filesystem::path& out) {
  return nlohmann::json::parse(std::ifstream(out / "results.json"));
}

std::vector<std::string> digests_of(const nlohmann::json& results) {
  std::vector<std::string> digests;
  for (const auto& scenario : results.at("scenarios")) {
    digests.push_back(scenario.at("name").get<std::string>() + " " +
                      scenario.at("output_digest").get<std::string>());
  }
  return digests;
}

nlohmann::json sweep(const Workplace& place, const std::string& out, const std::string& flags) {
  const std::string file = place.write("tiny.json", kMatrix);
  const JobResult job =
      place.run_ranks(2, "sweep " + file + " --out " + place.path(out).string() + flags);
  EXPECT_EQ(job.exit_code, 0) << job.text();
  EXPECT_EQ(job.err, "") << "quiet in a pipe";
  return results_of(place.path(out));
}

TEST(Sweep, SameSeedTwice_GivesEqualDigests) {
  const Workplace place;
  const auto first = sweep(place, "a", " --seed 5");
  const auto second = sweep(place, "b", " --seed 5");
  EXPECT_EQ(digests_of(first), digests_of(second));
  EXPECT_NE(digests_of(first), digests_of(sweep(place, "c", " --seed 6")));
}

TEST(Sweep, EveryMode_IsAsExpectedWithEqualBytes) {
  const Workplace place;
  const auto results = sweep(place, "out", "");
  EXPECT_EQ(results.at("schema_version"), 1);
  EXPECT_EQ(results.at("run").at("world_size"), 2);
  EXPECT_EQ(results.at("scenarios").size(), 10U);
  EXPECT_EQ(results.at("skipped").size(), 5U);
  EXPECT_EQ(results.at("skipped").at(0).at("reason"), "needs 4 ranks, world has 2");
  for (const auto& scenario : results.at("scenarios")) {
    const std::string name = scenario.at("name");
    EXPECT_EQ(scenario.at("passed"), true) << name;
    const bool resident = name.find("resident") != std::string::npos;
    EXPECT_EQ(scenario.at("bytes_equal"), resident ? nlohmann::json(nullptr) : nlohmann::json(true))
        << name;
    EXPECT_EQ(scenario.at("ranks").size(), scenario.at("topology").at("dp")) << name;
    EXPECT_FALSE(scenario.at("metrics").empty()) << name;
  }
}

TEST(Sweep, WrongExpectation_FailsTheJob) {
  const Workplace place;
  auto document = nlohmann::json::parse(kMatrix);
  document["matrix"] = {{"transfer", {"rank_local"}}};
  document["expect"] = {{{"outcome", "rejected"}, {"code", "CFG-04"}}};
  const std::string file = place.write("wrong.json", document.dump());
  const JobResult job =
      place.run_ranks(2, "sweep " + file + " --out " + place.path("out").string());
  EXPECT_EQ(job.exit_code, 1) << job.text();
  ASSERT_EQ(job.error_lines().size(), 1U) << job.text();
  EXPECT_NE(job.err.find("expected rejected (CFG-04), got runs"), std::string::npos) << job.text();
  EXPECT_TRUE(results_of(place.path("out")).at("scenarios").at(1).at("metrics").empty());
}

TEST(Sweep, List_NamesInstancesAndRunsNothing) {
  const Workplace place;
  const std::string file = place.write("tiny.json", kMatrix);
  const JobResult job = place.run_plain("sweep " + file + " --list");
  EXPECT_EQ(job.exit_code, 0) << job.text();
  EXPECT_NE(job.out.find("tiny/dp1/rank_local/ordinary/chunk4096\n"), std::string::npos)
      << job.text();
  EXPECT_NE(job.out.find("skipped: needs 2 ranks, world has 1"), std::string::npos) << job.text();
}

TEST(Run, WithoutMpirun_IsAWorldOfOne) {
  const Workplace place;
  auto document = nlohmann::json::parse(kMatrix);
  document["matrix"] = {{"dp", {1}}};
  const std::string file = place.write("one.json", document.dump());
  const JobResult job = place.run_plain("run " + file + " --out " + place.path("out").string() +
                                        " --enable-distributed-layerwise-offload"
                                        " --dlo-no-use-allgather");
  EXPECT_EQ(job.exit_code, 0) << job.text();
  const auto results = results_of(place.path("out"));
  EXPECT_EQ(results.at("scenarios").at(1).at("effective").at("transfer"), "staged");
  EXPECT_EQ(results.at("scenarios").at(1).at("bytes_equal"), true);
}

TEST(Run, OnePinFailure_EndsEveryRankWithThatCode) {
  const Workplace place;
  auto document = nlohmann::json::parse(kMatrix);
  document["matrix"] = {{"dp", {2}}, {"transfer", {"all_gather"}}};
  document["faults"] = {{"pin_fails_on_rank", 1}};
  document["platform"] = {{"wait_timeout_s", 5}};
  document["expect"] = {{{"outcome", "fails_closed"}, {"code", "pin_failed"}}};
  const std::string file = place.write("pin.json", document.dump());
  const JobResult job = place.run_ranks(2, "run " + file + " --out " + place.path("out").string());
  EXPECT_EQ(job.exit_code, 0) << job.text();
}

TEST(Report, Regenerated_IsTheSame) {
  const Workplace place;
  const auto results = sweep(place, "out", " --name dp1");
  const auto html = place.path("out") / "report.html";
  const auto size = std::filesystem::file_size(html);
  std::filesystem::remove(html);
  const JobResult job = place.run_plain("report " + place.path("out").string());
  EXPECT_EQ(job.exit_code, 0) << job.text();
  EXPECT_EQ(std::filesystem::file_size(html), size);
}

TEST(Doctor, ThisMachine_SaysWhatItHas) {
  const Workplace place;
  const JobResult job = place.run_ranks(2, "doctor");
  EXPECT_EQ(job.exit_code, 0) << job.text();
  EXPECT_NE(job.out.find("2 ranks over MPI"), std::string::npos) << job.text();
  EXPECT_NE(job.out.find("CUDA        absent"), std::string::npos) << job.text();
}

}  // namespace
}  // namespace dlo::harness::e2e
