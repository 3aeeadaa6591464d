// Goal: a process that believes to be alone in a job of several is refused (bug case LA-2).
// Method: the check with made-up environments.
#include "comm/mpi/launch_check.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/codes.h"

namespace dlo::comm {
namespace {

Status check(int size, const std::map<std::string, std::string>& environment) {
  return check_launch(size, [&environment](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(LaunchCheck, SingletonUnderLauncher_IsRefusedForEveryLauncher) {
  for (const auto* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NPROCS"}) {
    const Status status = check(1, {{name, "4"}});
    ASSERT_FALSE(status.ok()) << name;
    EXPECT_EQ(status.refusal().code, codes::kTopologyMismatch);
    EXPECT_NE(status.refusal().what.find(name), std::string::npos);
  }
}

TEST(LaunchCheck, OpenMpiSizeDiffers_IsRefused) {
  EXPECT_FALSE(check(2, {{"OMPI_COMM_WORLD_SIZE", "4"}}).ok());
}

TEST(LaunchCheck, AgreeingOrAbsentVariables_AreFine) {
  EXPECT_TRUE(check(1, {}).ok());
  EXPECT_TRUE(check(1, {{"OMPI_COMM_WORLD_SIZE", "1"}, {"SLURM_NPROCS", ""}}).ok());
  EXPECT_TRUE(check(4, {{"OMPI_COMM_WORLD_SIZE", "4"}, {"SLURM_NPROCS", "8"}}).ok());
}

}  // namespace
}  // namespace dlo::comm
