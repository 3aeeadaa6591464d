// Goal: bad input ends every rank with one clear line and the right exit code; nobody hangs,
// nothing half written stays. Method: the real program under mpirun, each input bad in one way.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/mpi/harness/dlo_process.h"

namespace dlo::harness::e2e {
namespace {

namespace fs = std::filesystem;

std::string scenario(const std::string& model, int dp, const std::string& transfer) {
  return R"({"name": "bad_input", "model": )" + model + R"(, "topology": {"dp": )" +
         std::to_string(dp) + R"(}, "transfer": ")" + transfer +
         R"(", "requests": {"count": 2, "steps": 1}, "platform": {"wait_timeout_s": 10},)" +
         R"("expect": [{"outcome": "runs"}]})";
}

constexpr const char* kTiny = R"({"preset": "wan_tiny", "blocks": 2})";

std::string checkpoint_model(const fs::path& folder) {
  return nlohmann::json{{"checkpoint", folder.string()}}.dump();
}

fs::path first_shard(const fs::path& checkpoint) {
  return checkpoint / "transformer" / "diffusion_pytorch_model-00001-of-00003.safetensors";
}

std::string read_all(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// One line on standard error, naming `code`, and the exit code.
void expect_one_line(const JobResult& job, int exit_code, const std::string& code) {
  EXPECT_EQ(job.exit_code, exit_code) << job.text();
  ASSERT_EQ(job.error_lines().size(), 1U) << job.text();
  EXPECT_NE(job.err.find("[" + code + "]"), std::string::npos) << job.text();
}

// Exactly the three files of a finished run: no scratch, no temporary siblings.
void expect_finished_output(const fs::path& out) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(out)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"report.html", "report.md", "results.json"}));
  EXPECT_TRUE(nlohmann::json::accept(read_all(out / "results.json")));
}

// A scenario on `checkpoint` falls short with one line that has `code`; results say so.
void expect_fell_short(const Workplace& place, const fs::path& checkpoint,
                       const std::string& code) {
  const std::string file =
      place.write("s.json", scenario(checkpoint_model(checkpoint), 2, "all_gather"));
  const fs::path out = place.path("out");
  const JobResult job = place.run_ranks(2, "run " + file + " --out " + out.string());
  expect_one_line(job, 1, code);
  expect_finished_output(out);
  const auto results = nlohmann::json::parse(read_all(out / "results.json"));
  EXPECT_EQ(results.at("scenarios").at(0).at("passed"), false);
  EXPECT_EQ(results.at("scenarios").at(0).at("code"), code);
  EXPECT_TRUE(results.at("scenarios").at(0).at("metrics").empty());
}

TEST(BadCommandLine, UnknownOption_NamesNearest) {
  const Workplace place;
  const JobResult job = place.run_ranks(2, "sweep x --out y --sed 3");
  expect_one_line(job, 2, "unknown_option");
  EXPECT_NE(job.err.find("--seed"), std::string::npos) << job.text();
}

TEST(BadCommandLine, UnknownSubcommand_NamesNearest) {
  const Workplace place;
  const JobResult job = place.run_plain("sweeep");
  expect_one_line(job, 2, "unknown_option");
  EXPECT_NE(job.err.find("'sweep'"), std::string::npos) << job.text();
}

TEST(BadCommandLine, RanksWithOtherWords_AllEnd) {
  const Workplace place;
  const std::string program = DLO_PROGRAM;
  const JobResult job =
      place.run_mpirun("-np 1 " + program + " doctor : -np 1 " + program + " --version");
  expect_one_line(job, 2, "ranks_disagree");
}

TEST(BadPath, ScenarioThatDoesNotExist_IsNamed) {
  const Workplace place;
  const JobResult job =
      place.run_ranks(2, "sweep /no/such/scenario.json --out " + place.path("out").string());
  expect_one_line(job, 1, "file_not_found");
  EXPECT_FALSE(fs::exists(place.path("out")));
}

TEST(BadPath, OutThatCannotBeWritten_IsRefusedBeforeAnythingRuns) {
  const Workplace place;
  const std::string file = place.write("s.json", scenario(kTiny, 2, "resident"));
  const std::string blocker = place.write("blocker", "a file, not a folder");
  const JobResult job = place.run_ranks(2, "run " + file + " --out " + blocker + "/out");
  expect_one_line(job, 1, "file_unwritable");
}

TEST(BadScenario, UnknownKey_NamesFileAndNearest) {
  const Workplace place;
  const std::string file = place.write("s.json", R"({"nam": "x"})");
  const JobResult job = place.run_ranks(2, "run " + file + " --out " + place.path("out").string());
  expect_one_line(job, 1, "unknown_option");
  EXPECT_NE(job.err.find(file), std::string::npos) << job.text();
  EXPECT_FALSE(fs::exists(place.path("out")));
}

TEST(BadWorld, TooSmall_SaysHowManyRanks) {
  const Workplace place;
  const std::string file = place.write("s.json", scenario(kTiny, 4, "all_gather"));
  const JobResult job = place.run_ranks(2, "run " + file + " --out " + place.path("out").string());
  expect_one_line(job, 2, "world_too_small");
  EXPECT_NE(job.err.find("-np 4"), std::string::npos) << job.text();
}

TEST(BadWorld, GapBetweenTopologyAndWorld_IsRefused) {
  const Workplace place;
  const std::string file = place.write("s.json", scenario(kTiny, 2, "all_gather"));
  const JobResult job = place.run_ranks(3, "run " + file + " --out " + place.path("out").string());
  expect_one_line(job, 2, "topology_mismatch");
}

TEST(BadCheckpoint, TruncatedShard_FallsShort) {
  const Workplace place;
  const fs::path checkpoint = place.copy_checkpoint();
  const fs::path shard = first_shard(checkpoint);
  fs::resize_file(shard, fs::file_size(shard) - 100);
  expect_fell_short(place, checkpoint, "safetensors_invalid");
}

TEST(BadCheckpoint, MissingShard_FallsShort) {
  const Workplace place;
  const fs::path checkpoint = place.copy_checkpoint();
  fs::remove(first_shard(checkpoint));
  expect_fell_short(place, checkpoint, "missing_shard");
}

TEST(BadCheckpoint, WrongDtypeInAShard_FallsShort) {
  const Workplace place;
  const fs::path checkpoint = place.copy_checkpoint();
  std::string bytes = read_all(first_shard(checkpoint));
  const std::size_t at = bytes.find("\"F32\"");
  ASSERT_NE(at, std::string::npos);
  // As wide as F32, so that only the type is wrong.
  bytes.replace(at, 5, "\"I32\"");
  std::ofstream(first_shard(checkpoint), std::ios::binary) << bytes;
  expect_fell_short(place, checkpoint, "dtype_mismatch");
}

TEST(BadCheckpoint, IndexThatNamesTheWrongShard_FallsShort) {
  const Workplace place;
  const fs::path checkpoint = place.copy_checkpoint();
  const fs::path file =
      checkpoint / "transformer" / "diffusion_pytorch_model.safetensors.index.json";
  auto index = nlohmann::json::parse(read_all(file));
  auto& map = index.at("weight_map");
  const std::string first = map.begin().value();
  map.begin().value() = first == "diffusion_pytorch_model-00003-of-00003.safetensors"
                            ? "diffusion_pytorch_model-00001-of-00003.safetensors"
                            : "diffusion_pytorch_model-00003-of-00003.safetensors";
  std::ofstream(file, std::ios::binary) << index.dump();
  expect_fell_short(place, checkpoint, "missing_tensor");
}

}  // namespace
}  // namespace dlo::harness::e2e
