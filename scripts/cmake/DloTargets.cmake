# dlo_add_library, dlo_add_test, dlo_add_fuzz_test; interface targets dlo_warnings, dlo_sanitize.
# libtorch: include single headers (ATen/core/Tensor.h, ATen/ops/linear.h), 3 s a file where
# torch/torch.h takes 17 s; so nothing is precompiled.

# ---- Interface targets ----------------------------------------------------------------------
# -Wrestrict of g++ 12 and 13 at -O3 reports std::string's own operator+ (GCC bug 105651).
add_library(dlo_warnings INTERFACE)
target_compile_options(dlo_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wnon-virtual-dtor
  -Wold-style-cast $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<BOOL:${DLO_WARNINGS_FATAL}>:-Werror>)

add_library(dlo_sanitize INTERFACE)
if(CMAKE_UNITY_BUILD)
  # Sources joined into one file, as all presets but dev do to build in a third of the time; what
  # one file says about the names of another is no fault of either. The dev preset, which does not
  # join, keeps both warnings whole.
  target_compile_options(dlo_warnings INTERFACE -Wno-shadow
    $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage;-Wshadow=local>)
endif()
if(DLO_SANITIZE)
  # -Wmaybe-uninitialized of g++ is unreliable under sanitizers (its manual says so): it reports
  # std::variant's own destructor.
  target_compile_options(dlo_sanitize INTERFACE
    -fsanitize=${DLO_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_compile_definitions(dlo_sanitize INTERFACE DLO_SANITIZED)
  target_link_options(dlo_sanitize INTERFACE -fsanitize=${DLO_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang AND DLO_SANITIZE MATCHES thread)
    # The static runtime of clang would not let tests/support/allocation_counter.cpp replace new.
    execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=libclang_rt.tsan-x86_64.so
      OUTPUT_VARIABLE _runtime OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    cmake_path(GET _runtime PARENT_PATH _runtime)
    target_link_options(dlo_sanitize INTERFACE -shared-libsan "-Wl,-rpath,${_runtime}")
  endif()
endif()

# For tests and the harness, which plan, print and judge; what is timed lies in src/. A third less
# to compile in a Release build; sanitizer builds are at -O0 already.
function(dlo_optimise_lightly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# Libraries in which exploration and the large tests spend their time; sanitizer builds, otherwise
# at -O0, optimise them.
set(DLO_OFTEN_RUN base contracts platform_sim comm_sim hot_path backend synthetic simulation)

# ---- Libraries ------------------------------------------------------------------------------
# dlo_add_library(<name> [SOURCES a.cpp ...] [DEPENDS dlo::base ...])
# Static library dlo_<name> with alias dlo::<name>; without SOURCES an interface library.
# Includes are rooted at src/, at the top (harness/, tests/support/).
function(dlo_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "dlo_add_library(${name}): unknown arguments ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(ARG_SOURCES)
    add_library(dlo_${name} STATIC ${ARG_SOURCES})
    if(name MATCHES "_(cuda|nccl|copy_engine)$")
      # Machines without these libraries, CI's among them, would not see names that collide.
      set_target_properties(dlo_${name} PROPERTIES UNITY_BUILD OFF)
    endif()
    if(name IN_LIST DLO_OFTEN_RUN)
      target_compile_options(dlo_${name} PRIVATE $<$<CONFIG:Sanitize>:-O1>)
    endif()
    set(_product "${PROJECT_SOURCE_DIR}/src")
    cmake_path(IS_PREFIX _product "${CMAKE_CURRENT_SOURCE_DIR}" _is_product)
    if(NOT _is_product)
      dlo_optimise_lightly(dlo_${name})
    endif()
    set(_scope PUBLIC)
    target_link_libraries(dlo_${name} PRIVATE dlo_warnings)
  else()
    add_library(dlo_${name} INTERFACE)
    set(_scope INTERFACE)
  endif()
  add_library(dlo::${name} ALIAS dlo_${name})
  target_include_directories(dlo_${name} ${_scope}
    "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
  target_link_libraries(dlo_${name} ${_scope} dlo_sanitize Threads::Threads ${ARG_DEPENDS})
endfunction()

# ---- Tests ----------------------------------------------------------------------------------
# dlo_add_test(<name> LABEL unit|property|mpi|fault|golden|tidy|fuzz SOURCES ...
#              DEPENDS dlo::... GTest::gtest_main [TIMEOUT s] [RANKS 1 2 3])
# One executable <name>, one CTest test <name>; with RANKS one test <name>_np<N> a rank count,
# started by mpirun (link dlo::mpi_main then, not GTest::gtest_main).
# Every test has the watchdog of tests/support: one that hangs is named and aborted.
function(dlo_add_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SOURCES;DEPENDS;RANKS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS OR NOT ARG_LABEL OR NOT ARG_SOURCES)
    message(FATAL_ERROR "dlo_add_test(${name}): needs LABEL and SOURCES; "
                        "unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT DLO_BUILD_TESTS)
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  foreach(_dep IN LISTS ARG_DEPENDS)
    if(_dep MATCHES "::" AND NOT TARGET ${_dep})
      if(DLO_WITH_TORCH AND DLO_WITH_MPI AND NOT _dep MATCHES "cuda|nccl|copy_engine")
        message(FATAL_ERROR "dlo_add_test(${name}): there is no target ${_dep}")
      endif()
      dlo_skip_test(${name} ${ARG_LABEL} "${_dep} is not part of this build")
      return()
    endif()
  endforeach()
  if(ARG_RANKS AND NOT DLO_WITH_MPI)
    dlo_skip_test(${name} ${ARG_LABEL} "DLO_WITH_MPI is off")
    return()
  endif()

  add_executable(${name} ${ARG_SOURCES})
  dlo_optimise_lightly(${name})
  set(_labels ${ARG_LABEL})
  # Unit and property tests of what runs on several threads are run again under ThreadSanitizer;
  # mutants are not, for their races are on purpose.
  if(ARG_LABEL MATCHES "^(unit|property)$" AND "${ARG_DEPENDS}" MATCHES
     "dlo::(hot_path|backend|synthetic|platform_cpu|comm_threads|comm_suite|rank_threads)(;|$)")
    list(APPEND _labels threads)
  endif()
  foreach(_label IN LISTS _labels)
    dlo_add_to_label(${_label} ${name})
  endforeach()
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE dlo_warnings dlo_sanitize ${ARG_DEPENDS} GTest::gtest)
  if(TARGET dlo_watchdog)
    target_link_libraries(${name} PRIVATE dlo_watchdog)
  endif()
  if(ARG_RANKS)
    foreach(_ranks IN LISTS ARG_RANKS)
      add_test(NAME ${name}_np${_ranks}
        COMMAND ${MPIEXEC_EXECUTABLE} -q --oversubscribe --bind-to none -np ${_ranks}
                $<TARGET_FILE:${name}>)
      dlo_set_test_properties(${name}_np${_ranks} "${_labels}" ${ARG_TIMEOUT} ${_ranks})
    endforeach()
  else()
    add_test(NAME ${name} COMMAND ${name})
    dlo_set_test_properties(${name} "${_labels}" ${ARG_TIMEOUT} 1)
  endif()
endfunction()

# Target dlo_tests_<label> builds every test of a label; it exists when all of them are skipped too.
function(dlo_add_to_label label)
  if(NOT TARGET dlo_tests_${label})
    add_custom_target(dlo_tests_${label})
  endif()
  if(ARGN)
    add_dependencies(dlo_tests_${label} ${ARGN})
  endif()
endfunction()

function(dlo_set_test_properties test labels timeout processors)
  set(_draws "")
  if(DLO_SANITIZE)
    math(EXPR timeout "${timeout} * 3")
    # Properties are judged over their full number of draws in the release build.
    set(_draws "RC_PARAMS=max_success=40;")
  endif()
  set(_suppressions "${PROJECT_SOURCE_DIR}/scripts/suppressions")
  set_tests_properties(${test} PROPERTIES
    LABELS "${labels}"
    TIMEOUT ${timeout}
    COST ${timeout}  # the longest first, so that no core ends with one of them alone
    PROCESSORS ${processors}
    ENVIRONMENT "${_draws}OMP_NUM_THREADS=1;\
OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;\
DLO_TEST_TIMEOUT_S=${timeout};\
LSAN_OPTIONS=suppressions=${_suppressions}/lsan.txt;\
TSAN_OPTIONS=suppressions=${_suppressions}/tsan.txt halt_on_error=1;\
UBSAN_OPTIONS=print_stacktrace=1")
endfunction()

# dlo_add_fuzz_test(<name> SOURCES fuzz.cpp ... SECONDS n [LIBRARIES crypto ...] [CORPUS dir])
# A libFuzzer program, compiled by clang 16 straight from torch-free sources (the main compiler is
# g++, and clang 14 has no std::source_location), and a CTest test that runs it for n seconds from
# the seeds in CORPUS. Without clang 16, and in sanitizer builds, the test is listed as skipped
# with the reason.
function(dlo_add_fuzz_test name)
  cmake_parse_arguments(ARG "" "SECONDS;CORPUS" "SOURCES;LIBRARIES" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS OR NOT ARG_SOURCES OR NOT ARG_SECONDS)
    message(FATAL_ERROR "dlo_add_fuzz_test(${name}): needs SOURCES and SECONDS; "
                        "unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT DLO_BUILD_TESTS)
    return()
  endif()
  find_program(DLO_FUZZ_COMPILER clang++-16)
  mark_as_advanced(DLO_FUZZ_COMPILER)
  if(DLO_SANITIZE)
    dlo_skip_test(${name} fuzz "the fuzzer brings its own sanitizers")
    return()
  endif()
  if(NOT DLO_FUZZ_COMPILER)
    dlo_skip_test(${name} fuzz "clang++-16 is missing; run scripts/setup --test")
    return()
  endif()

  set(_flags -std=c++20 -O1 -g1 -fsanitize=fuzzer,address,undefined
             -fno-sanitize-recover=undefined)
  # Joined into one file: most of the time goes into headers that all of them include.
  set(_includes "")
  foreach(_source IN LISTS ARG_SOURCES)
    get_filename_component(_path "${_source}" ABSOLUTE)
    string(APPEND _includes "#include \"${_path}\"\n")
  endforeach()
  set(_joined "${CMAKE_CURRENT_BINARY_DIR}/${name}.joined.cpp")
  file(CONFIGURE OUTPUT "${_joined}" CONTENT "${_includes}" @ONLY)
  set(_object "${CMAKE_CURRENT_BINARY_DIR}/${name}.o")
  add_custom_command(OUTPUT "${_object}"
    COMMAND "${DLO_FUZZ_COMPILER}" ${_flags} "-I${PROJECT_SOURCE_DIR}/src"
            "-I${PROJECT_SOURCE_DIR}" -MD -MF "${_object}.d" -c "${_joined}" -o "${_object}"
    DEPENDS "${_joined}" DEPFILE "${_object}.d" VERBATIM)
  list(TRANSFORM ARG_LIBRARIES PREPEND "-l" OUTPUT_VARIABLE _libraries)
  set(_program "${CMAKE_CURRENT_BINARY_DIR}/${name}.program")
  add_custom_command(OUTPUT "${_program}"
    COMMAND "${DLO_FUZZ_COMPILER}" ${_flags} "${_object}" ${_libraries} -o "${_program}"
    DEPENDS "${_object}" VERBATIM)
  add_custom_target(${name} ALL DEPENDS "${_program}")
  dlo_add_to_label(fuzz ${name})

  # New inputs go to the first folder, which is the build's; the seeds are only read.
  set(_found "${CMAKE_CURRENT_BINARY_DIR}/${name}.corpus")
  file(MAKE_DIRECTORY "${_found}")
  math(EXPR _timeout "${ARG_SECONDS} * 3 + 30")
  add_test(NAME ${name}
    COMMAND "${_program}" -max_total_time=${ARG_SECONDS} -timeout=10 -rss_limit_mb=2048
            -artifact_prefix=${CMAKE_CURRENT_BINARY_DIR}/ "${_found}" ${ARG_CORPUS})
  dlo_set_test_properties(${name} fuzz ${_timeout} 1)
endfunction()

# A test whose subject is absent stays listed, as skipped, with the reason.
function(dlo_skip_test name label reason)
  message(STATUS "test ${name} skipped: ${reason}")
  dlo_add_to_label(${label})
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${reason}")
  set_tests_properties(${name} PROPERTIES LABELS ${label} SKIP_REGULAR_EXPRESSION "skipped: ")
endfunction()
