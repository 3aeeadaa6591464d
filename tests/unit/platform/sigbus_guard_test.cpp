// Goal: a file that is truncated under a live mapping reads as zeros and says so; any other SIGBUS
// still ends the process or reaches the handler that was there. Method: files cut with resize_file
// and, for the deadly cases, death tests.
#include "platform/posix/sigbus_guard.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

#include "platform/posix/posix_file_system.h"

namespace dlo::platform {
namespace {

constexpr std::size_t kPages = 8;
const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

class SigbusGuardTest : public testing::Test {
 protected:
  SigbusGuardTest() {
    std::string name = (std::filesystem::temp_directory_path() / "dlo_bus_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    std::ofstream(path()) << std::string(kPages * page_bytes, 'x');
  }
  ~SigbusGuardTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] Path path() const { return folder_ / "file"; }
  [[nodiscard]] std::unique_ptr<MappedFile> map(const Path& file) const {
    auto mapped = files_.map_read_only(file);
    EXPECT_TRUE(mapped.ok());
    return std::move(*mapped);
  }
  [[nodiscard]] std::unique_ptr<MappedFile> map() const { return map(path()); }
  void truncate(std::size_t bytes) const { std::filesystem::resize_file(path(), bytes); }

  // An address in a mapping that no guard knows, of a file without the page behind it.
  [[nodiscard]] const volatile char* unguarded_fault() const {
    std::FILE* const file = std::fopen(path().c_str(), "r");
    void* const start = ::mmap(nullptr, page_bytes, PROT_READ, MAP_SHARED, ::fileno(file), 0);
    std::fclose(file);
    truncate(0);
    return static_cast<const volatile char*>(start);
  }

  PosixFileSystem files_;
  Path folder_;
};

std::size_t zeros(ConstByteSpan bytes) {
  return static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), std::byte{0}));
}

TEST_F(SigbusGuardTest, TruncatedUnderMapping_ReadsZerosAndSaysSo) {
  const auto mapped = map();
  EXPECT_EQ(zeros(mapped->bytes()), 0U);
  truncate(2 * page_bytes);
  EXPECT_EQ(zeros(mapped->bytes()), (kPages - 2) * page_bytes);
  EXPECT_TRUE(mapped->truncated());
}

TEST_F(SigbusGuardTest, CutInsideAPage_IsNoticedWithoutAFault) {
  const auto mapped = map();
  truncate(kPages * page_bytes - 100);
  EXPECT_EQ(zeros(mapped->bytes()), 100U);
  EXPECT_TRUE(mapped->truncated());
}

TEST_F(SigbusGuardTest, TruncatedAndGrownAgain_IsStillFlaggedAfterAFault) {
  const auto mapped = map();
  truncate(0);
  EXPECT_EQ(zeros(mapped->bytes()), kPages * page_bytes);
  truncate(kPages * page_bytes);
  EXPECT_TRUE(mapped->truncated());
}

TEST_F(SigbusGuardTest, OtherMappingOfAnotherFile_IsNotFlagged) {
  std::ofstream(folder_ / "other") << std::string(page_bytes, 'y');
  const auto other = map(folder_ / "other");
  const auto mapped = map();
  truncate(0);
  EXPECT_EQ(zeros(mapped->bytes()), kPages * page_bytes);
  EXPECT_FALSE(other->truncated());
}

TEST_F(SigbusGuardTest, ManyThreadsFaultingAtOnce_AllReadZeros) {
  std::vector<std::unique_ptr<MappedFile>> mappings;
  for (int i = 0; i < 200; ++i) {  // more than one block of the registry
    mappings.push_back(map());
  }
  truncate(0);
  std::vector<std::thread> threads;
  std::vector<std::size_t> counted(4);
  for (std::size_t t = 0; t < counted.size(); ++t) {
    threads.emplace_back([&, t] {
      for (const auto& mapped : mappings) {
        counted[t] += zeros(mapped->bytes());
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  for (const std::size_t count : counted) {
    EXPECT_EQ(count, mappings.size() * kPages * page_bytes);
  }
}

// As a thread that an accelerator's runtime made may; without the call a fault ends the process.
TEST_F(SigbusGuardTest, ThreadThatBlocksEverySignal_ReadsZerosOnceItAdmitsFaults) {
  const auto mapped = map();
  truncate(0);
  std::size_t read = 0;
  std::thread blocking([&] {
    sigset_t signals;
    ::sigfillset(&signals);
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    admit_sigbus();
    read = zeros(mapped->bytes());
  });
  blocking.join();
  EXPECT_EQ(read, kPages * page_bytes);
  EXPECT_TRUE(mapped->truncated());
}

// A sanitizer has a handler of its own; these want the kernel's default below the guard.
void install_over_default() {
  ::signal(SIGBUS, SIG_DFL);
  install_sigbus_guard();
}

TEST_F(SigbusGuardTest, UnrelatedFault_StillKills) {
  EXPECT_EXIT(
      {
        install_over_default();
        static_cast<void>(*unguarded_fault());
      },
      testing::KilledBySignal(SIGBUS), "");
}

TEST_F(SigbusGuardTest, SignalFromAProcess_StillKills) {
  EXPECT_EXIT(
      {
        install_over_default();
        ::kill(::getpid(), SIGBUS);
        ::pause();
      },
      testing::KilledBySignal(SIGBUS), "");
}

TEST_F(SigbusGuardTest, UnrelatedFault_ReachesTheHandlerBefore) {
  EXPECT_EXIT(
      {
        struct sigaction action = {};
        action.sa_handler = [](int) { ::_exit(42); };
        ::sigaction(SIGBUS, &action, nullptr);
        install_sigbus_guard();
        static_cast<void>(*unguarded_fault());
      },
      testing::ExitedWithCode(42), "");
}

// As a library would that installs its handler after ours and keeps the old one.
TEST_F(SigbusGuardTest, InstalledAgain_GuardsAndChainsWithoutCircles) {
  EXPECT_EXIT(
      {
        install_over_default();
        static struct sigaction found = {};
        struct sigaction action = {};
        action.sa_flags = SA_SIGINFO;
        action.sa_sigaction = [](int signal, siginfo_t* info, void* context) {
          found.sa_sigaction(signal, info, context);
        };
        ::sigaction(SIGBUS, &action, &found);
        install_sigbus_guard();
        const auto mapped = map();
        truncate(0);
        if (zeros(mapped->bytes()) == kPages * page_bytes && mapped->truncated()) {
          static_cast<void>(*unguarded_fault());
        }
      },
      testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace dlo::platform
