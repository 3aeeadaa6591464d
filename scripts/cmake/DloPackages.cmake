# Finds every library but libtorch. Targets to link:
#   nlohmann_json::nlohmann_json  CLI11::CLI11  dlo::spdlog  dlo::fmt  OpenSSL::Crypto
#   valijson  Threads::Threads  MPI::MPI_CXX (with DLO_WITH_MPI)
#   CUDA::cudart  dlo::nccl (with DLO_WITH_CUDA)
#   GTest::gtest  GTest::gtest_main  rapidcheck  rapidcheck_gtest (with DLO_BUILD_TESTS)

find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(valijson REQUIRED)

# Programs of a CUDA build travel to machines that have neither, and Debian has no archives of them:
# there their code is compiled in.
add_library(dlo_fmt INTERFACE)
add_library(dlo::fmt ALIAS dlo_fmt)
add_library(dlo_spdlog INTERFACE)
add_library(dlo::spdlog ALIAS dlo_spdlog)
if(DLO_WITH_CUDA)
  target_link_libraries(dlo_fmt INTERFACE fmt::fmt-header-only)
  target_link_libraries(dlo_spdlog INTERFACE spdlog::spdlog_header_only)
  # spdlog's target names libfmt all the same.
  target_link_options(dlo_spdlog INTERFACE -Wl,--as-needed)
else()
  target_link_libraries(dlo_fmt INTERFACE fmt::fmt)
  target_link_libraries(dlo_spdlog INTERFACE spdlog::spdlog)
endif()

if(DLO_WITH_MPI)
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI 3.0 REQUIRED COMPONENTS CXX)
endif()

# 13, because libtorch brings libcudart.so.13; NCCL of the toolkit's folder or of a wheel in
# .deps/nccl.
if(DLO_WITH_CUDA)
  find_package(CUDAToolkit 13 REQUIRED)
  find_path(DLO_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS}
    PATHS "${PROJECT_SOURCE_DIR}/.deps/nccl/nvidia/nccl/include")
  find_library(DLO_NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${CUDAToolkit_LIBRARY_DIR}
    PATHS "${PROJECT_SOURCE_DIR}/.deps/nccl/nvidia/nccl/lib")
  if(NOT DLO_NCCL_INCLUDE OR NOT DLO_NCCL_LIBRARY)
    message(FATAL_ERROR "DLO_WITH_CUDA is on and NCCL was not found: python3 -m pip install "
                        "--no-deps --target .deps/nccl nvidia-nccl-cu13==2.28.9, or set "
                        "DLO_NCCL_INCLUDE and DLO_NCCL_LIBRARY")
  endif()
  add_library(dlo_nccl INTERFACE)
  add_library(dlo::nccl ALIAS dlo_nccl)
  target_include_directories(dlo_nccl SYSTEM INTERFACE "${DLO_NCCL_INCLUDE}")
  target_link_libraries(dlo_nccl INTERFACE "${DLO_NCCL_LIBRARY}" CUDA::cudart)
endif()

if(DLO_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
endif()
