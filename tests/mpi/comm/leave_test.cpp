// Goal: jobs end by name: one exit code for all ranks, a killed and a stopped rank named by every
// survivor, a singleton under a launcher refused. Method: starts mpirun on a probe program and
// reads what its ranks print.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace {

struct Ended {
  int code = -1;
  std::string output;
};

Ended run(const std::string& command) {
  std::FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  Ended ended;
  std::array<char, 4096> part{};
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), pipe)) {
    ended.output.append(part.data(), count);
  }
  const int status = ::pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

std::string mpirun(int ranks, const std::string& options, const std::string& way) {
  // "timeout": a stopped rank would keep mpirun waiting for ever.
  return "timeout -k 2 25 " DLO_MPIEXEC " -q --oversubscribe --bind-to none " + options + " -np " +
         std::to_string(ranks) + " " DLO_LEAVE_PROBE " " + way;
}

bool contains(const Ended& ended, const std::string& part) {
  return ended.output.find(part) != std::string::npos;
}

TEST(MpiLeave, DifferentCodes_TheHighestIsEverybodys) {
  const Ended ended = run(mpirun(3, "", "codes"));
  EXPECT_EQ(ended.code, 2) << ended.output;
  // mpirun ends the others when one exits with a code, so not every rank's line arrives.
  EXPECT_TRUE(contains(ended, "left with 2")) << ended.output;
  EXPECT_FALSE(contains(ended, "left with 0")) << ended.output;
  EXPECT_FALSE(contains(ended, "left with 1")) << ended.output;
}

TEST(MpiLeave, GatherThatAllLeftByAName_IsNoFailureToMpirun) {
  // MPI must not be finalised then; a plain mpirun calls that a failure unless it is told.
  const Ended ended = run(mpirun(3, "", "gather_left"));
  EXPECT_EQ(ended.code, 0) << ended.output;
  for (const auto* line : {"rank 0 left with ", "rank 1 left with ", "rank 2 left with "}) {
    EXPECT_TRUE(contains(ended, std::string(line) + "copy_failed")) << ended.output;
  }
}

TEST(MpiLeave, KilledRank_IsNamedByEverySurvivor) {
  // Under recovery mpirun reports 0 whatever its ranks do: the verdicts count.
  const Ended ended = run(mpirun(3, "--enable-recovery", "killed"));
  for (const auto* line : {"rank 0 saw ", "rank 2 saw "}) {
    EXPECT_TRUE(contains(ended, std::string(line) + "the process of rank 1 ended")) << ended.output;
  }
  EXPECT_TRUE(contains(ended, "[peer_failed]")) << ended.output;
}

TEST(MpiLeave, StoppedRank_IsNamedByEverySurvivor) {
  const Ended ended = run(mpirun(3, "", "stopped"));
  EXPECT_NE(ended.code, 0);
  for (const auto* line : {"rank 0 saw ", "rank 2 saw "}) {
    EXPECT_TRUE(contains(ended, std::string(line) + "the process of rank 1 gave no sign of life"))
        << ended.output;
  }
}

TEST(MpiLeave, SurvivorThatIsLate_IsWaitedFor) {
  // Not under recovery: mpirun ends the others as soon as one rank exits with a code.
  const Ended ended = run(mpirun(3, "", "late"));
  EXPECT_NE(ended.code, 0);
  EXPECT_TRUE(contains(ended, "rank 2 saw the process of rank 1 gave no sign of life"))
      << ended.output;
}

TEST(MpiLeave, SingletonWithLauncherVariable_IsRefused) {
  const Ended ended =
      run("env -u OMPI_COMM_WORLD_SIZE SLURM_NPROCS=4 timeout 25 " DLO_LEAVE_PROBE " codes");
  EXPECT_EQ(ended.code, 3) << ended.output;
  EXPECT_TRUE(contains(ended, "MPI reports 1 rank, but SLURM_NPROCS is 4")) << ended.output;
}

}  // namespace
