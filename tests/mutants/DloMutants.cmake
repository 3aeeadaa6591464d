# dlo_add_mutant(<name> <patch>)
# Object libraries dlo_hot_path_<name> and dlo_backend_<name>: the planes' sources with <patch>
# applied to a copy of them (git apply, no fuzz; a patch that no longer fits fails the build of the
# mutant alone). A program that links both directly runs the mutated code, also when other
# libraries of it link dlo::backend: objects come before archives, so those are not pulled in.
# Patches change .cpp files only; everyone keeps the headers of src/.
set(DLO_MUTANTS_DIR "${CMAKE_CURRENT_LIST_DIR}")

function(dlo_add_mutant name patch)
  get_filename_component(_patch "${patch}" ABSOLUTE)
  set(_root "${CMAKE_CURRENT_BINARY_DIR}/${name}")
  set(_originals "")
  set(_all_copies "")
  foreach(_plane IN ITEMS hot_path backend)
    get_target_property(_sources dlo_${_plane} SOURCES)
    get_target_property(_folder dlo_${_plane} SOURCE_DIR)
    file(RELATIVE_PATH _relative "${PROJECT_SOURCE_DIR}" "${_folder}")
    set(_copies "")
    foreach(_source IN LISTS _sources)
      list(APPEND _originals "${_relative}/${_source}")
      list(APPEND _copies "${_root}/${_relative}/${_source}")
    endforeach()
    list(APPEND _all_copies ${_copies})
    add_library(dlo_${_plane}_${name} OBJECT ${_copies})
    target_link_libraries(dlo_${_plane}_${name} PRIVATE dlo_warnings dlo_sanitize dlo::${_plane})
  endforeach()
  list(TRANSFORM _originals PREPEND "${PROJECT_SOURCE_DIR}/" OUTPUT_VARIABLE _inputs)
  string(REPLACE ";" "," _list "${_originals}")
  add_custom_command(OUTPUT ${_all_copies}
    COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DROOT=${_root}"
            "-DFILES=${_list}" "-DPATCH=${_patch}" -P "${DLO_MUTANTS_DIR}/apply_mutant.cmake"
    DEPENDS ${_inputs} "${_patch}" "${DLO_MUTANTS_DIR}/apply_mutant.cmake"
    COMMENT "Mutant ${name}" VERBATIM)
  # Both libraries are made of one command's outputs: one target runs it.
  add_custom_target(dlo_mutant_sources_${name} DEPENDS ${_all_copies})
  add_dependencies(dlo_hot_path_${name} dlo_mutant_sources_${name})
  add_dependencies(dlo_backend_${name} dlo_mutant_sources_${name})
endfunction()
