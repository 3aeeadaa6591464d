// Goal: the doctor's facts are the machine's, and memory is held against the smaller of the
// machine and the cgroup (bug case HM-3). Method: /proc and /sys as files in memory.
#include "harness/machine.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "harness/doctor.h"
#include "tests/support/memory_file_system.h"

namespace dlo::harness {
namespace {

void put_machine(test_support::MemoryFileSystem& files) {
  files.put("/proc/meminfo", "MemTotal:  8388608 kB\nMemFree: 1 kB\nMemAvailable:  6291456 kB\n");
  files.put("/proc/self/status", "Name:\tdlo\nCpus_allowed_list:\t0-2,8\n");
  files.put("/proc/self/limits",
            "Limit                     Soft Limit           Hard Limit           Units     \n"
            "Max locked memory         8388608              unlimited            bytes     \n");
  files.put("/proc/sys/kernel/hostname", "node7\n");
}

TEST(Machine, PlainFiles_GiveTheFacts) {
  test_support::MemoryFileSystem files;
  put_machine(files);
  const MachineFacts facts = read_machine(files);
  EXPECT_EQ(facts.host, "node7");
  EXPECT_EQ(facts.cores, 4);
  EXPECT_EQ(facts.memory_total_bytes, 8 * kGiB);
  EXPECT_EQ(facts.memlock_bytes, 8 * kMiB);
  EXPECT_EQ(usable_memory_bytes(facts), 6 * kGiB);
  EXPECT_FALSE(facts.cgroup_limit_bytes.has_value());
}

TEST(Machine, CgroupV2Limit_IsTheSmaller) {
  test_support::MemoryFileSystem files;
  put_machine(files);
  files.put("/proc/self/cgroup", "0::/job/step\n");
  files.put("/sys/fs/cgroup/job/step/memory.max", "max\n");
  files.put("/sys/fs/cgroup/job/memory.max", "2147483648\n");
  files.put("/sys/fs/cgroup/job/memory.current", "1073741824\n");
  const MachineFacts facts = read_machine(files);
  EXPECT_EQ(facts.cgroup_limit_bytes, 2 * kGiB);
  EXPECT_EQ(usable_memory_bytes(facts), 1 * kGiB);
  const std::string text = doctor_text(facts, {}, {});
  EXPECT_NE(text.find("MemAvailable 6.00 GiB"), std::string::npos) << text;
  EXPECT_NE(text.find("2.00 GiB less 1.00 GiB used"), std::string::npos) << text;
}

TEST(Machine, CgroupV1Limit_IsFound) {
  test_support::MemoryFileSystem files;
  put_machine(files);
  files.put("/proc/self/cgroup", "4:cpu,memory:/box\n0::/\n");
  files.put("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "1073741824\n");
  files.put("/sys/fs/cgroup/memory/box/memory.usage_in_bytes", "0\n");
  EXPECT_EQ(usable_memory_bytes(read_machine(files)), 1 * kGiB);
}

TEST(Machine, CgroupWithoutALimit_LimitsNothing) {
  test_support::MemoryFileSystem files;
  put_machine(files);
  files.put("/proc/self/cgroup", "4:memory:/box\n0::/\n");
  files.put("/sys/fs/cgroup/memory.max", "max\n");
  // v1's way to say "no limit".
  files.put("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_FALSE(read_machine(files).cgroup_limit_bytes.has_value());
}

TEST(Machine, CgroupLimitSmallerThanItsUse_LeavesNothing) {
  test_support::MemoryFileSystem files;
  put_machine(files);
  files.put("/proc/self/cgroup", "0::/job\n");
  files.put("/sys/fs/cgroup/job/memory.max", "1048576\n");
  files.put("/sys/fs/cgroup/job/memory.current", "2097152\n");
  const MachineFacts facts = read_machine(files);
  EXPECT_EQ(usable_memory_bytes(facts), 0U);
  EXPECT_FALSE(machine_suffices(facts));
}

TEST(Machine, NothingToRead_IsNotAFailure) {
  const test_support::MemoryFileSystem files;
  const MachineFacts facts = read_machine(files);
  EXPECT_EQ(facts.host, "unknown");
  EXPECT_FALSE(usable_memory_bytes(facts).has_value());
  EXPECT_TRUE(machine_suffices(facts));
}

TEST(Machine, UnlimitedMemlock_IsSaid) {
  test_support::MemoryFileSystem files;
  files.put("/proc/self/limits", "Max locked memory         unlimited            unlimited\n");
  EXPECT_NE(doctor_text(read_machine(files), {}, {}).find("unlimited"), std::string::npos);
}

TEST(Doctor, Accelerators_AreListedOrTheirAbsenceExplained) {
  const MachineFacts facts = read_machine(test_support::MemoryFileSystem());
  engine::Accelerators accelerators;
  EXPECT_NE(doctor_text(facts, {}, accelerators).find("no CUDA targets in this build"),
            std::string::npos);
  accelerators.in_build = true;
  EXPECT_NE(doctor_text(facts, {}, accelerators).find("no NVIDIA driver"), std::string::npos);
  accelerators.devices.push_back({0, "NVIDIA H200", "0000:1b:00.0", 140 * kGiB});
  accelerators.versions = "CUDA 13.0";
  const std::string text = doctor_text(facts, {}, accelerators);
  EXPECT_NE(text.find("device 0 NVIDIA H200, 140.00 GiB, 0000:1b:00.0"), std::string::npos) << text;
  EXPECT_NE(text.find("platform cuda"), std::string::npos);
}

}  // namespace
}  // namespace dlo::harness
