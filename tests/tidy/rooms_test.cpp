// Goal: each rule about rooms fires on what it forbids and is silent on what is allowed.
// Method: in-memory trees of one bad or good file each.
#include "tests/tidy/rooms.h"

#include <gtest/gtest.h>

#include <string>

namespace dlo::tidy {
namespace {

TEST(Includes, ForbiddenRoom_Fires) {
  EXPECT_EQ(check_includes(SourceTree::one("src/base/a.h", "#include \"comm/b.h\"\n")).size(), 1U);
  EXPECT_EQ(check_includes(SourceTree::one("src/model/a.h", "#include \"backend/b.h\"\n")).size(),
            1U);
  EXPECT_EQ(
      check_includes(SourceTree::one("src/host_weights/a.h", "#include \"hot_path/b.h\"\n")).size(),
      1U);
}

TEST(Includes, HarnessIntoPlanes_Fires) {
  EXPECT_EQ(check_includes(SourceTree::one("harness/a.cpp", "#include \"hot_path/b.h\"\n")).size(),
            1U);
  EXPECT_EQ(check_includes(SourceTree::one("harness/a.cpp", "#include \"backend/b.h\"\n")).size(),
            1U);
  EXPECT_EQ(check_includes(SourceTree::one("harness/a.cpp", "#include \"model/b.h\"\n")).size(),
            1U);
}

TEST(Includes, TestsFromProduct_Fires) {
  EXPECT_EQ(
      check_includes(SourceTree::one("src/base/a.h", "#include \"tests/support/b.h\"\n")).size(),
      1U);
}

TEST(Includes, TorchOutsideItsRooms_Fires) {
  EXPECT_EQ(
      check_includes(SourceTree::one("src/backend/a.cpp", "#include <torch/torch.h>\n")).size(),
      1U);
  EXPECT_EQ(check_includes(SourceTree::one("harness/a.cpp", "#include <ATen/ATen.h>\n")).size(),
            1U);
}

TEST(Includes, NotRooted_Fires) {
  EXPECT_EQ(check_includes(SourceTree::one("src/base/a.cpp", "#include \"b.h\"\n")).size(), 1U);
  EXPECT_EQ(check_includes(SourceTree::one("src/base/a.cpp", "#include \"../comm/b.h\"\n")).size(),
            1U);
}

TEST(Includes, PermittedRooms_AreSilent) {
  EXPECT_EQ(describe(check_includes(
                SourceTree::one("src/backend/a.cpp",
                                "#include <vector>\n#include \"backend/a.h\"\n"
                                "#include \"hot_path/b.h\"\n#include \"base/c.h\"\n"))),
            "");
  EXPECT_EQ(
      describe(check_includes(SourceTree::one("src/model/a.cpp", "#include <torch/torch.h>\n"))),
      "");
  EXPECT_EQ(
      describe(check_includes(SourceTree::one("tests/unit/comm/a.cpp", "#include \"comm/a.h\"\n"))),
      "");
}

TEST(LinkLists, ForbiddenRoom_Fires) {
  const SourceTree tree({{"src/comm/CMakeLists.txt", "dlo_add_library(comm_mpi SOURCES a.cpp)"},
                         {"src/config/CMakeLists.txt",
                          "dlo_add_library(config SOURCES a.cpp\n  DEPENDS dlo::comm_mpi)"}});
  EXPECT_EQ(check_link_lists(tree).size(), 1U);
}

TEST(LinkLists, TorchOutsideItsRooms_Fires) {
  EXPECT_EQ(
      check_link_lists(SourceTree::one("src/backend/CMakeLists.txt",
                                       "dlo_add_library(backend SOURCES a.cpp DEPENDS dlo::torch)"))
          .size(),
      1U);
}

TEST(LinkLists, PermittedRooms_AreSilent) {
  const SourceTree tree({{"src/base/CMakeLists.txt", "dlo_add_library(base SOURCES a.cpp)"},
                         {"src/config/CMakeLists.txt",
                          "dlo_add_library(config SOURCES a.cpp DEPENDS dlo::base fmt::fmt)"}});
  EXPECT_EQ(describe(check_link_lists(tree)), "");
}

TEST(RawCalls, EachKind_Fires) {
  for (const char* line : {"cudaMemcpyAsync(a, b);",
                           "ncclAllGather(a);",
                           "MPI_Barrier(comm);",
                           "#include <mpi.h>",
                           "void* p = mmap(nullptr, n);",
                           "int fd = ::open(path, flags);",
                           "if (flock(fd, x)) {",
                           "return fsync(fd);",
                           "std::thread worker;",
                           "std::this_thread::yield();",
                           "sleep_for(a);",
                           "auto now = std::chrono::steady_clock::now();",
                           "#include <sys/mman.h>",
                           "std::async(f);",
                           "::sleep(1);",
                           "cuStreamWaitValue32(a);",
                           "cudaFree(p);",
                           "dlopen(name, 0);",
                           "#include <cuda_runtime_api.h>",
                           "#include <cuda.h>",
                           "#include <dlfcn.h>",
                           "  flock(fd, 2);",
                           "  if (a && fsync(fd) != 0) {"}) {
    EXPECT_GE(check_raw_calls(SourceTree::one("src/engine/a.cpp", line)).size(), 1U) << line;
  }
}

TEST(RawCalls, BelowASeam_IsSilent) {
  EXPECT_EQ(describe(check_raw_calls(SourceTree::one("src/comm/mpi/a.cpp", "MPI_Barrier(comm);"))),
            "");
  EXPECT_EQ(
      describe(check_raw_calls(SourceTree::one("src/platform/posix/a.cpp", "::open(path, 0);"))),
      "");
}

TEST(RawCalls, MembersDeclarationsAndProse_AreSilent) {
  for (const char* line :
       {"auto file = files.open(path);", "reader->open(path);", "Result<Reader> open(Path path);",
        "  Reader* open(Path path);", "auto reader = Reader::open(path);",
        "// the caller may sleep(1) or MPI_Test", "throw Error(\"call MPI_Init first\");",
        "clock.sleep(duration);", "void sleep(Nanoseconds duration) override;"}) {
    EXPECT_EQ(describe(check_raw_calls(SourceTree::one("src/engine/a.cpp", line))), "") << line;
  }
}

TEST(RawCalls, SleepsAndClocksInTests_Fire) {
  EXPECT_EQ(check_raw_calls(SourceTree::one("tests/unit/a_test.cpp", "std::sleep_for(x);")).size(),
            1U);
  EXPECT_EQ(
      check_raw_calls(SourceTree::one("tests/unit/a_test.cpp", "steady_clock::now();")).size(), 1U);
  EXPECT_EQ(
      describe(check_raw_calls(SourceTree::one("tests/unit/a_test.cpp", "std::thread t(f);"))), "");
}

}  // namespace
}  // namespace dlo::tidy
