// Goal: whatever a run may forget to give back is counted, each figure by itself.
// Method: one thing of each kind is taken on purpose and kept while the process is counted again;
// it must show, by its name where it has one, and must be gone once it is given back. Lines of
// /proc that are odd, and what a GPU's driver opens, come from files in memory.
#include "telemetry/process_resources.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <thread>

#include "base/codes.h"
#include "platform/cpu/cpu_device.h"
#include "platform/posix/posix_file_system.h"
#include "platform/posix/steady_clock.h"
#include "platform/posix/thread_name.h"
#include "tests/support/memory_file_system.h"

namespace dlo::telemetry {
namespace {

using platform::MemoryPurpose;

class CountResourcesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_ / "below");
    device_ = platform::make_cpu_device({}, clock_, *signal_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] ProcessResources count() const {
    return count_resources(files_, {folder_}).value();
  }
  // What has grown since `before`, once it had time to go.
  std::vector<std::string> grown(const ProcessResources& before) {
    ProcessResources after = count_settled(files_, {folder_}, before, clock_).value();
    add_device_books(*device_, after);
    return grown_resources(before, after);
  }
  // `take` keeps something of the kind `name` and returns what gives it back; its line must say
  // `what`.
  void expect_counted(const std::string& name, const std::function<std::function<void()>()>& take,
                      const std::string& what = "") {
    const ProcessResources before = count();
    const std::function<void()> give_back = take();
    const auto held = grown(before);
    const auto found = std::any_of(held.begin(), held.end(), [&](const std::string& line) {
      return line.starts_with(name + ":") && line.find(what) != std::string::npos;
    });
    EXPECT_TRUE(found) << name << " does not show: " << (held.empty() ? "" : held.front());
    give_back();
    const auto left = grown(before);
    EXPECT_TRUE(left.empty()) << left.front();
  }
  [[nodiscard]] std::unique_ptr<platform::WritableFile> new_file(const std::string& name) {
    return std::move(files_.create(folder_ / name)).value();
  }

  platform::PosixFileSystem files_;
  platform::SteadyClock clock_;
  std::unique_ptr<FailureSignal> signal_ = make_local_failure_signal();
  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / "dlo_process_resources_test";
  std::unique_ptr<platform::Device> device_;
};

TEST_F(CountResourcesTest, NothingTaken_NothingGrown) {
  const ProcessResources before = count();
  EXPECT_GT(before.descriptors, 0U);
  EXPECT_GT(before.threads, 0U);
  EXPECT_GT(before.file_mappings, 0U);
  EXPECT_GT(before.other_mappings, 0U);
  EXPECT_TRUE(grown(before).empty());
}

TEST_F(CountResourcesTest, OpenFile_IsADescriptor) {
  const auto open = [this] {
    auto file = std::make_shared<std::unique_ptr<platform::WritableFile>>(new_file("open"));
    std::filesystem::remove(folder_ / "open");
    return [file] { file->reset(); };
  };
  expect_counted("descriptors", open, "after: " + (folder_ / "open").string());
}

TEST_F(CountResourcesTest, FileLeftBehind_IsATemporaryFile) {
  expect_counted("temporary_files", [this] {
    static_cast<void>(new_file("below/left"));
    return [this] { std::filesystem::remove(folder_ / "below" / "left"); };
  });
}

TEST_F(CountResourcesTest, MappedFile_IsAFileMapping) {
  const std::string text(8192, 'x');
  EXPECT_TRUE(new_file("mapped")->write_at(0, std::as_bytes(std::span(text))).ok());
  expect_counted("file_mappings", [this] {
    auto mapping = std::make_shared<std::unique_ptr<platform::MappedFile>>(
        std::move(files_.map_read_only(folder_ / "mapped")).value());
    return [mapping] { mapping->reset(); };
  });
}

// Starts a thread that calls itself `name` and goes on until the returned function is called.
std::function<void()> start_thread(const char* name) {
  struct Gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool named = false;
    bool open = false;
  };
  auto gate = std::make_shared<Gate>();
  auto thread = std::make_shared<std::thread>([gate, name] {
    platform::name_this_thread(name);
    std::unique_lock lock(gate->mutex);
    gate->named = true;
    gate->changed.notify_all();
    gate->changed.wait(lock, [&gate] { return gate->open; });
  });
  std::unique_lock lock(gate->mutex);
  gate->changed.wait(lock, [&gate] { return gate->named; });
  return [gate, thread] {
    {
      const std::lock_guard open_lock(gate->mutex);
      gate->open = true;
    }
    gate->changed.notify_all();
    thread->join();
  };
}

TEST_F(CountResourcesTest, ThreadThatGoesOn_IsAThread) {
  // The device's own threads may still be about to name themselves: theirs may stand beside it.
  const auto left = [] { return start_thread("dlo-left"); };
  expect_counted("threads", left, "dlo-left");
  const auto cut = [] { return start_thread("dlo-a-name-that-is-long"); };
  expect_counted("threads", cut, "dlo-a-name-that");
}

TEST_F(CountResourcesTest, ThreadOfTheDriver_IsNobodysLeak) {
  const ProcessResources before = count();
  const auto end = start_thread("cuda-EvtHandlr");
  EXPECT_EQ(grown(before), std::vector<std::string>{});
  end();
}

TEST_F(CountResourcesTest, PinnedBuffer_IsLockedAndInTheBooks) {
  if (!device_->allocate_pinned(4096, MemoryPurpose::kStaging).ok()) {
    GTEST_SKIP() << "no locked memory is allowed here";
  }
  for (const char* name : {"locked_bytes", "pinned_bytes", "device_buffers"}) {
    expect_counted(name, [this] {
      auto buffer = std::make_shared<std::unique_ptr<platform::HostBuffer>>(
          std::move(device_->allocate_pinned(64 * kKiB, MemoryPurpose::kStaging)).value());
      return [buffer] { buffer->reset(); };
    });
  }
}

TEST_F(CountResourcesTest, DeviceAndPageableBuffers_AreInTheBooks) {
  for (const char* name : {"device_bytes", "device_buffers"}) {
    expect_counted(name, [this] {
      auto buffer = std::make_shared<std::unique_ptr<platform::DeviceBuffer>>(
          std::move(device_->allocate_device(4096, MemoryPurpose::kSlot)).value());
      return [buffer] { buffer->reset(); };
    });
  }
  expect_counted("pageable_bytes", [this] {
    auto buffer = std::make_shared<std::unique_ptr<platform::HostBuffer>>(
        std::move(device_->allocate_pageable(4096, MemoryPurpose::kStaging)).value());
    return [buffer] { buffer->reset(); };
  });
}

TEST_F(CountResourcesTest, MoreMappingsThanMallocKeeps_AreOtherMappings) {
  expect_counted("other_mappings", [this] {
    // Neighbours of one kind become one mapping: pageable and pinned ones alternate.
    auto buffers = std::make_shared<std::vector<std::unique_ptr<platform::HostBuffer>>>();
    for (int i = 0; i < 80; ++i) {
      auto made = i % 2 == 0 ? device_->allocate_pageable(4096, MemoryPurpose::kStaging)
                             : device_->allocate_pinned(4096, MemoryPurpose::kStaging);
      if (!made.ok()) {
        ADD_FAILURE() << made.refusal().message();
        break;
      }
      buffers->push_back(std::move(made).value());
    }
    return [buffers] { buffers->clear(); };
  });
}

TEST(CountResources, FilesOfAnotherSystem_AreCountedByTheirLines) {
  test_support::MemoryFileSystem files;
  files.put_symlink("/proc/self/fd/0", "/dev/null");
  files.put_symlink("/proc/self/fd/1", "/memfd:p\xe4ge (deleted)");
  int number = 10;
  for (const char* node : {"/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm",
                           "/dev/nvidia-caps/nvidia-cap1", "/dev/dri/renderD128"}) {
    files.put_symlink("/proc/self/fd/" + std::to_string(number++), node);
  }
  files.put_symlink("/proc/self/fd/30", "anon_inode:[eventfd]");
  files.put("/proc/self/fd/9", "");  // no link: something that cannot be named
  files.put("/proc/self/task/17/comm", "dlo-mpi\n");
  files.put("/proc/self/task/18/comm", "dlo\n");
  files.put("/proc/self/task/19/comm", "cuda00001400006\n");
  files.put("/proc/self/task/20/stat", "");  // ended since the folder was listed
  files.put("/proc/self/maps",
            "55d0-55d1 r-xp 00000000 fe:00 1234    /usr/bin/dlo\n"
            "7f00-7f01 rw-s 00000000 00:01 7       /memfd:page (deleted)\n"
            "7f10-7f11 rw-p 00000000 00:00 0       [heap]\n"
            "7f12-7f13 ---p 00000000 00:00 0\n"
            "7f14-7f15 rw-p\n");
  files.put("/proc/self/status", "Name:\tdlo\nVmLck:\t      12 kB\nThreads:\t9\n");
  files.put("/out/a", "");
  files.put("/out/b/c", "");
  const auto counted = count_resources(files, {"/out", "/missing"});
  ASSERT_TRUE(counted.ok()) << counted.refusal().message();
  ProcessResources wanted;
  wanted.descriptors = 3;
  wanted.event_descriptors = 1;
  wanted.threads = 2;
  wanted.descriptor_names = {"/dev/null", "/memfd:p?ge (deleted)", "?"};
  wanted.thread_names = {"dlo", "dlo-mpi"};
  wanted.file_mappings = 2;
  wanted.other_mappings = 3;
  wanted.locked_bytes = 12 * kKiB;
  wanted.temporary_files = 2;
  EXPECT_EQ(*counted, wanted);
}

TEST(CountResources, WithoutProc_IsRefused) {
  const test_support::MemoryFileSystem files;
  EXPECT_EQ(count_resources(files, {}).refusal().code, codes::kFileNotFound);
}

TEST(GrownResources, EveryFigure_CountsByItselfFromItsSlackOn) {
  for (const auto& row : resource_rows()) {
    ProcessResources before;
    before.*row.figure = 5;
    ProcessResources after = before;
    after.*row.figure += row.slack;
    EXPECT_TRUE(grown_resources(before, after).empty()) << row.name;
    after.*row.figure += 1;
    ASSERT_EQ(grown_resources(before, after).size(), 1U) << row.name;
    EXPECT_TRUE(grown_resources(before, after).front().starts_with(row.name));
    EXPECT_TRUE(grown_resources(after, before).empty()) << row.name << " has shrunk";
  }
}

TEST(GrownResources, NamesThatAreNew_AreInTheLineAsOftenAsTheyAre) {
  ProcessResources before;
  before.threads = 3;
  before.thread_names = {"dlo", "dlo", "gone"};
  ProcessResources after;
  after.threads = 5;
  after.thread_names = {"MPI", "dlo", "dlo", "dlo", "dlo"};
  EXPECT_EQ(grown_resources(before, after),
            std::vector<std::string>{"threads: 3 before, 5 after: MPI, dlo, dlo"});
  after.threads = 3;
  EXPECT_TRUE(new_names(resource_rows()[1], before, after).empty()) << "nothing has grown";
}

TEST(GrownResources, MoreNamesThanAHandful_AreCounted) {
  ProcessResources after;
  after.descriptors = 7;
  after.descriptor_names = {"a", "b", "c", "d", "e", "f", "g"};
  EXPECT_EQ(grown_resources({}, after),
            std::vector<std::string>{"descriptors: 0 before, 7 after: a, b, c, d, e and 2 more"});
}

TEST(AddResources, NamesOfBoth_AreTogetherAndSorted) {
  ProcessResources all;
  all.threads = 2;
  all.thread_names = {"a", "c"};
  ProcessResources more;
  more.threads = 1;
  more.thread_names = {"b"};
  add_resources(more, all);
  EXPECT_EQ(all.threads, 3U);
  EXPECT_EQ(all.thread_names, (std::vector<std::string>{"a", "b", "c"}));
}

}  // namespace
}  // namespace dlo::telemetry
