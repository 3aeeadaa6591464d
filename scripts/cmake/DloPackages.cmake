# Finds every library but libtorch. Targets to link:
#   nlohmann_json::nlohmann_json  CLI11::CLI11  spdlog::spdlog  fmt::fmt  OpenSSL::Crypto
#   valijson  Threads::Threads  MPI::MPI_CXX (with DLO_WITH_MPI)
#   CUDA::cudart (with DLO_WITH_CUDA)
#   GTest::gtest  GTest::gtest_main  rapidcheck  rapidcheck_gtest (with DLO_BUILD_TESTS)

find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(valijson REQUIRED)

if(DLO_WITH_MPI)
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI 3.0 REQUIRED COMPONENTS CXX)
endif()

# CUDA::cudart, looked for by the top file. 13, because libtorch brings libcudart.so.13.
if(DLO_WITH_CUDA AND NOT CUDAToolkit_FOUND)
  message(FATAL_ERROR "DLO_WITH_CUDA is on and no CUDA toolkit 13 was found: set "
                      "-DCUDAToolkit_ROOT=DIR or -DDLO_WITH_CUDA=OFF")
endif()

if(DLO_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
endif()
