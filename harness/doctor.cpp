#include "harness/doctor.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "harness/build_info.h"

namespace dlo::harness {
namespace {

// One rank of the smoke sweep: libtorch's libraries and a model of some tens of MiB.
constexpr std::uint64_t kSmallestRankBytes = 512 * kMiB;

std::string bytes_text(const std::optional<std::uint64_t>& bytes) {
  return bytes.has_value() ? format_bytes(*bytes) : "not told";
}

std::string line(std::string_view label, const std::string& text) {
  return fmt::format("  {:<12}{}\n", label, text);
}

std::string cores_text(const MachineFacts& facts) {
  std::string text = facts.cores ? fmt::format("{}", *facts.cores) : "not told";
  if (facts.cpu_quota.has_value()) {
    text += fmt::format(" (the cgroup grants {:.1f})", *facts.cpu_quota);
  }
  return text + "; ranks beyond that share them: right results, slow ones";
}

std::string memory_text(const MachineFacts& facts) {
  std::string text =
      fmt::format("{} usable = the smaller of MemAvailable {}",
                  bytes_text(usable_memory_bytes(facts)), bytes_text(facts.memory_available_bytes));
  if (facts.cgroup_limit_bytes.has_value()) {
    text += fmt::format(" and the cgroup's {} less {} used", bytes_text(facts.cgroup_limit_bytes),
                        bytes_text(facts.cgroup_used_bytes));
  } else {
    text += " and the cgroup, which sets no limit";
  }
  return text;
}

std::string memlock_text(const MachineFacts& facts) {
  if (!facts.memlock_known) {
    return "not told";
  }
  if (!facts.memlock_bytes.has_value()) {
    return "unlimited";
  }
  return fmt::format(
      "{} a process (RLIMIT_MEMLOCK); pinned weights above it need root or a "
      "higher limit",
      format_bytes(*facts.memlock_bytes));
}

std::string cuda_text(const MachineFacts& facts, const engine::Accelerators& accelerators) {
  if (!accelerators.in_build) {
    return facts.has_nvidia_driver
               ? "absent: this build has no CUDA targets (cmake --preset cuda makes one), though "
                 "the machine has an NVIDIA driver"
               : "absent: no NVIDIA driver on this machine, and no CUDA targets in this build";
  }
  if (accelerators.devices.empty()) {
    return facts.has_nvidia_driver ? "absent: the driver shows no device to this process"
                                   : "absent: no NVIDIA driver on this machine";
  }
  std::string text = accelerators.versions;
  for (const auto& device : accelerators.devices) {
    text += fmt::format("; device {} {}, {}, {}", device.ordinal, device.name,
                        format_bytes(device.memory_bytes), device.bus_id);
  }
  return text;
}

}  // namespace

bool machine_suffices(const MachineFacts& facts) {
  const auto usable = usable_memory_bytes(facts);
  return !usable.has_value() || *usable >= kSmallestRankBytes;
}

std::string doctor_text(const MachineFacts& facts, const WorldFacts& world,
                        const engine::Accelerators& accelerators) {
  const Json build = build_info();
  std::string text = fmt::format("dlo {} ({}) on {}\n", build.at("version").get<std::string>(),
                                 commit_text(), facts.host);
  text += line("cores", cores_text(facts));
  text += line("memory", memory_text(facts));
  text += line("pinned", memlock_text(facts));
  text += line("disk", bytes_text(facts.disk_free_bytes) + " free in the working directory");
  text += line("world", world.kind == "mpi" ? fmt::format("{} rank{} over MPI", world.size,
                                                          world.size == 1 ? "" : "s")
                                            : "1 rank; mpirun -np N starts more");
  text += line("MPI", build.at("mpi").get<std::string>());
  text += line("torch", build.at("torch").get<std::string>() +
                            (accelerators.in_build ? "" : ", its CPU half"));
  text += line("CUDA", cuda_text(facts, accelerators));
  text += machine_suffices(facts)
              ? fmt::format("This machine can run the CPU scenarios{}.\n",
                            accelerators.devices.empty() ? "" : " and those with platform cuda")
              : fmt::format("This machine lacks memory: a rank needs about {}.\n",
                            format_bytes(kSmallestRankBytes));
  return text;
}

}  // namespace dlo::harness
