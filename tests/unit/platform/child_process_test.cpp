// Goal: a child runs with the words, environment and output file it was given, its end is told
// apart (code, signal, refusal), and nothing of its session outlives it. Method: real shells; waits
// end by what the child did, deadlines are only for the failing case.
#include "platform/posix/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "base/codes.h"
#include "platform/posix/steady_clock.h"

namespace dlo::platform {
namespace {

class ChildProcessTest : public testing::Test {
 protected:
  ChildProcessTest() : output_(testing::TempDir() + "child_process_test.txt") {}
  ~ChildProcessTest() override {
    std::error_code ignored;
    std::filesystem::remove(output_, ignored);
  }

  Result<ChildProcess> start(const std::string& script) {
    return ChildProcess::start({.words = {"/bin/sh", "-c", script},
                                .environment = {{"DLO_CHILD_TEST", "told"}},
                                .output = output_},
                               clock_);
  }
  [[nodiscard]] Deadline late() const { return Deadline::after(clock_.now(), 30 * kSecond); }
  [[nodiscard]] std::string output() const {
    std::ostringstream text;
    text << std::ifstream(output_).rdbuf();
    return text.str();
  }
  // Waits until the child has said `text`.
  [[nodiscard]] bool says(const std::string& text) {
    const Deadline deadline = late();
    while (output().find(text) == std::string::npos && !deadline.expired(clock_.now())) {
      std::this_thread::yield();
    }
    return output().find(text) != std::string::npos;
  }

  SteadyClock clock_;
  Path output_;
};

TEST_F(ChildProcessTest, Exit_GivesCodeOutputAndEnvironment) {
  auto child = start("echo out $DLO_CHILD_TEST; echo err >&2; exit 7");
  ASSERT_TRUE(child.ok()) << child.refusal().message();
  const auto end = child->wait(late());
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->exit_code, 7);
  EXPECT_EQ(end->signal, 0);
  EXPECT_EQ(end->text(), "exit code 7");
  EXPECT_EQ(output(), "out told\nerr\n");
  EXPECT_TRUE(child->members().empty());
}

TEST_F(ChildProcessTest, Signal_IsToldFromAnExit) {
  auto child = start("kill -KILL $$");
  ASSERT_TRUE(child.ok()) << child.refusal().message();
  const auto end = child->wait(late());
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->signal, SIGKILL);
  EXPECT_EQ(end->text(), "signal 9");
}

TEST_F(ChildProcessTest, ProgramThatIsNone_IsRefusedByName) {
  const auto child = ChildProcess::start(
      {.words = {"/no/such/program"}, .environment = {}, .output = output_}, clock_);
  ASSERT_FALSE(child.ok());
  EXPECT_EQ(child.refusal().code, codes::kFileNotFound);
  EXPECT_NE(child.refusal().message().find("/no/such/program"), std::string::npos);
}

TEST_F(ChildProcessTest, OutputThatCannotBeWritten_IsRefused) {
  const auto child = ChildProcess::start(
      {.words = {"/bin/true"}, .environment = {}, .output = "/proc/no/file"}, clock_);
  ASSERT_FALSE(child.ok());
  EXPECT_NE(child.refusal().message().find("/proc/no/file"), std::string::npos);
}

TEST_F(ChildProcessTest, DeadlineOver_LeavesTheChildRunning) {
  auto child = start("echo up; sleep 600");
  ASSERT_TRUE(child.ok()) << child.refusal().message();
  ASSERT_TRUE(says("up"));
  EXPECT_FALSE(child->wait(Deadline::after(clock_.now(), 0)).has_value());
  EXPECT_FALSE(child->members().empty());
}

TEST_F(ChildProcessTest, End_AsksBeforeItKills) {
  auto child = start("trap 'echo asked; exit 3' TERM; echo up; while :; do sleep 0.01; done");
  ASSERT_TRUE(child.ok()) << child.refusal().message();
  ASSERT_TRUE(says("up"));
  static_cast<void>(child->end(30 * kSecond));
  EXPECT_NE(output().find("asked"), std::string::npos);
  EXPECT_EQ(child->wait(late())->exit_code, 3);
  EXPECT_TRUE(child->members().empty());
}

TEST_F(ChildProcessTest, EndOfAChildThatRefuses_KillsWhatItStartedToo) {
  // A grandchild in a process group of its own that has stopped itself, as a stopped MPI rank.
  auto child = start(
      "trap '' TERM; set -m; (trap '' TERM; echo stopped; kill -STOP $(exec sh -c 'echo $PPID'); "
      "sleep 600) & "
      "echo up; while :; do sleep 600; done");
  ASSERT_TRUE(child.ok()) << child.refusal().message();
  ASSERT_TRUE(says("up"));
  ASSERT_TRUE(says("stopped"));
  const auto killed = child->end(kMillisecond);
  EXPECT_GE(killed.size(), 2U);
  EXPECT_TRUE(child->members().empty());
  EXPECT_EQ(child->wait(late())->signal, SIGKILL);
}

TEST_F(ChildProcessTest, OrphanOfAnEndedChild_IsFoundAndEnded) {
  auto child = start("sleep 600 & echo up");
  ASSERT_TRUE(child.ok()) << child.refusal().message();
  ASSERT_TRUE(child->wait(late()).has_value());
  EXPECT_EQ(child->members().size(), 1U);
  EXPECT_EQ(child->end(0).size(), 1U);
  EXPECT_TRUE(child->members().empty());
}

TEST_F(ChildProcessTest, Destructor_LeavesNobody) {
  int pid = 0;
  {
    auto child = start("echo up; sleep 600");
    ASSERT_TRUE(child.ok()) << child.refusal().message();
    ASSERT_TRUE(says("up"));
    pid = child->pid();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_NE(::kill(pid, 0), 0);
}

TEST_F(ChildProcessTest, ParentThatDies_TakesTheChildAlong) {
  const int parent = ::fork();
  if (parent == 0) {
    auto child = start("trap 'echo asked; exit 0' TERM; echo up; while :; do sleep 0.01; done");
    static_cast<void>(says("up"));
    ::_exit(child.ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(parent, &status, 0), parent);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(says("asked")) << output();
}

TEST(ProcessExists, OwnProcess_DoesAndAnEndedOneDoesNot) {
  EXPECT_TRUE(process_exists(own_process_id()));
  const int child = ::fork();
  if (child == 0) {
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_FALSE(process_exists(child));
}

TEST(FindProgram, NameOnPath_IsFoundAndOthersAreNot) {
  const auto shell = find_program("sh");
  ASSERT_TRUE(shell.ok()) << shell.refusal().message();
  EXPECT_TRUE(shell->is_absolute());
  EXPECT_EQ(find_program("/bin/sh").value(), "/bin/sh");
  EXPECT_EQ(find_program("no-such-program-anywhere").refusal().code, codes::kFileNotFound);
  EXPECT_EQ(find_program("/no/such/program").refusal().code, codes::kFileNotFound);
  EXPECT_EQ(find_program("/tmp").refusal().code, codes::kFileNotFound);
}

TEST(OwnProgram, Always_IsThisExecutable) {
  EXPECT_NE(own_program().string().find("child_process_test"), std::string::npos);
}

}  // namespace
}  // namespace dlo::platform
