# dlo::torch, an imported target over libtorch_cpu and libc10 of the PyPI wheel `torch` 2.11.
# find_package(Torch) of that wheel wants a CUDA toolkit; the CPU half does not need one, it only
# needs libcudart and libcupti at run time (wheels nvidia-cuda-runtime and nvidia-cuda-cupti).
# Looked for in this order: DLO_TORCH_PREFIX, .deps/python/torch, the torch of python3.

set(_candidates "${DLO_TORCH_PREFIX}" "${PROJECT_SOURCE_DIR}/.deps/python/torch")
find_program(DLO_PYTHON3 python3)
mark_as_advanced(DLO_PYTHON3)
if(DLO_PYTHON3)
  # Asks where the package lies without importing it: an import takes seconds.
  execute_process(
    COMMAND "${DLO_PYTHON3}" -c
      "import importlib.util as u; s = u.find_spec('torch'); \
print(s.submodule_search_locations[0] if s else '')"
    OUTPUT_VARIABLE _installed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  list(APPEND _candidates "${_installed}")
endif()

set(_found "")
foreach(_prefix IN LISTS _candidates)
  if(_prefix AND EXISTS "${_prefix}/lib/libtorch_cpu.so" AND EXISTS "${_prefix}/version.py")
    file(STRINGS "${_prefix}/version.py" _line REGEX "^__version__ = ")
    string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+[^']*" _version "${_line}")
    if(_version MATCHES "^2\\.11\\.")
      set(_found "${_prefix}")
      break()
    endif()
    message(STATUS "torch ${_version} in ${_prefix} is not 2.11, passed over")
  endif()
endforeach()
if(NOT _found)
  message(FATAL_ERROR "no torch 2.11 found: run scripts/setup, or pass -DDLO_TORCH_PREFIX=DIR "
                      "(the folder of the Python package), or -DDLO_WITH_TORCH=OFF")
endif()
set(DLO_TORCH_PREFIX "${_found}" CACHE PATH "Folder of a Python torch package 2.11" FORCE)
set(DLO_TORCH_VERSION "${_version}")

# With the old ABI of std::string every call would end in an undefined symbol; say it here.
file(STRINGS "${_found}/lib/libc10.so" _abi REGEX "c10.*__cxx11.*basic_string" LIMIT_COUNT 1)
if(NOT _abi)
  message(FATAL_ERROR "torch in ${_found} was built with the old std::string ABI "
                      "(_GLIBCXX_USE_CXX11_ABI=0): install the wheel of PyPI with scripts/setup")
endif()

# Where the CUDA wheels put their libraries, beside torch or in .deps.
set(_library_dirs "${_found}/lib")
foreach(_root IN ITEMS "${_found}/.." "${PROJECT_SOURCE_DIR}/.deps/python")
  file(GLOB _dirs "${_root}/nvidia/cu13/lib" "${_root}/nvidia/cuda_runtime/lib"
                  "${_root}/nvidia/cuda_cupti/lib")
  list(APPEND _library_dirs ${_dirs})
endforeach()

add_library(dlo_torch_c10 SHARED IMPORTED)
set_target_properties(dlo_torch_c10 PROPERTIES IMPORTED_LOCATION "${_found}/lib/libc10.so")
add_library(dlo_torch INTERFACE)
add_library(dlo::torch ALIAS dlo_torch)
# Behind every other directory: the wheel carries a newer fmt of its own, whose headers must not
# hide those of the fmt that is linked.
target_compile_options(dlo_torch INTERFACE
  "SHELL:-idirafter \"${_found}/include\""
  "SHELL:-idirafter \"${_found}/include/torch/csrc/api/include\"")
# -rpath with the old tag is also used for the libraries that libtorch_cpu itself needs.
target_link_options(dlo_torch INTERFACE "LINKER:--disable-new-dtags")
foreach(_dir IN LISTS _library_dirs)
  target_link_options(dlo_torch INTERFACE "LINKER:-rpath,${_dir}" "LINKER:-rpath-link,${_dir}")
endforeach()
target_link_libraries(dlo_torch INTERFACE
  "${_found}/lib/libtorch_cpu.so" dlo_torch_c10 Threads::Threads)

# The CUDA half. Its kernels register themselves when libtorch_cuda is loaded, so it is linked
# although no symbol asks for it; what it needs in turn comes from the toolkit, the wheels beside
# torch, or the machine that runs the program.
if(DLO_WITH_CUDA)
  add_library(dlo_torch_c10_cuda SHARED IMPORTED)
  set_target_properties(dlo_torch_c10_cuda PROPERTIES
    IMPORTED_LOCATION "${_found}/lib/libc10_cuda.so")
  target_link_libraries(dlo_torch INTERFACE dlo_torch_c10_cuda CUDA::cudart)
  file(GLOB _cuda_dirs "${_found}/../nvidia/*/lib"
                       "${PROJECT_SOURCE_DIR}/.deps/python/nvidia/*/lib")
  list(APPEND _cuda_dirs "${CUDAToolkit_LIBRARY_DIR}")
  foreach(_dir IN LISTS _cuda_dirs)
    target_link_options(dlo_torch INTERFACE "LINKER:-rpath,${_dir}" "LINKER:-rpath-link,${_dir}")
  endforeach()
  target_link_options(dlo_torch INTERFACE
    "LINKER:--unresolved-symbols=ignore-in-shared-libs"
    "LINKER:--push-state,--no-as-needed" "${_found}/lib/libtorch_cuda.so" "LINKER:--pop-state")
endif()
