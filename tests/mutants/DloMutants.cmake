# dlo_add_mutant(<name> <patch> <name source>)
# Object library dlo_mutant_<name>: the sources that <patch> touches, copied and patched (git apply,
# no fuzz; a patch that no longer fits fails the build of the mutant alone). A program that links
# it directly runs the mutated code, also when other libraries of it link the planes: an object
# comes before archives and defines all that the archive member of the same source does, so that
# member is not pulled in. Were it pulled in, the link would end with double definitions.
# Patches change .cpp files of src/ only; everyone keeps the headers. <name source> becomes
# dlo_mutant_name_<name>, which says the name to tests that are compiled once for all mutants.
set(DLO_MUTANTS_DIR "${CMAKE_CURRENT_LIST_DIR}")

function(dlo_add_mutant name patch name_source)
  get_filename_component(_patch "${patch}" ABSOLUTE)
  set(_root "${CMAKE_CURRENT_BINARY_DIR}/${name}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${_patch}")
  file(STRINGS "${_patch}" _lines REGEX "^--- a/src/[a-z_]+/[a-z_]+\\.cpp$")
  if(NOT _lines)
    message(FATAL_ERROR "mutant ${name}: ${_patch} changes no src/<plane>/<source>.cpp")
  endif()
  set(_files "")
  set(_planes "")
  foreach(_line IN LISTS _lines)
    string(REGEX REPLACE "^--- a/(src/([a-z_]+)/.*)$" "\\1" _file "${_line}")
    string(REGEX REPLACE "^src/([a-z_]+)/.*$" "\\1" _plane "${_file}")
    list(APPEND _files "${_file}")
    list(APPEND _planes "dlo::${_plane}")
    # In a joined source, the original could not be left out alone.
    set_source_files_properties("${PROJECT_SOURCE_DIR}/${_file}"
      TARGET_DIRECTORY dlo_${_plane} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
  list(TRANSFORM _files PREPEND "${_root}/" OUTPUT_VARIABLE _copies)
  list(TRANSFORM _files PREPEND "${PROJECT_SOURCE_DIR}/" OUTPUT_VARIABLE _originals)
  string(REPLACE ";" "," _list "${_files}")
  add_custom_command(OUTPUT ${_copies}
    COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DROOT=${_root}"
            "-DFILES=${_list}" "-DPATCH=${_patch}" -P "${DLO_MUTANTS_DIR}/apply_mutant.cmake"
    DEPENDS ${_originals} "${_patch}" "${DLO_MUTANTS_DIR}/apply_mutant.cmake"
    COMMENT "Mutant ${name}" VERBATIM)
  add_library(dlo_mutant_${name} OBJECT ${_copies})
  set_target_properties(dlo_mutant_${name} PROPERTIES UNITY_BUILD OFF)
  target_link_libraries(dlo_mutant_${name} PRIVATE dlo_warnings dlo_sanitize ${_planes})

  add_library(dlo_mutant_name_${name} OBJECT "${name_source}")
  target_compile_definitions(dlo_mutant_name_${name} PRIVATE DLO_MUTANT="${name}")
  target_include_directories(dlo_mutant_name_${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(dlo_mutant_name_${name} PRIVATE dlo_warnings dlo_sanitize)
endfunction()

# dlo_add_mutant_tests(<prefix> SOURCE test.cpp MUTANTS a b ... DEPENDS dlo::... [TIMEOUT s])
# Test <prefix>_<mutant> for each mutant, of a source that is compiled once; it asks mutant_name().
function(dlo_add_mutant_tests prefix)
  cmake_parse_arguments(ARG "" "SOURCE;TIMEOUT" "MUTANTS;DEPENDS" ${ARGN})
  set(_tests dlo_${prefix}_tests)
  add_library(${_tests} OBJECT ${ARG_SOURCE})
  dlo_optimise_lightly(${_tests})
  target_link_libraries(${_tests} PRIVATE dlo_warnings dlo_sanitize ${ARG_DEPENDS})
  foreach(_mutant IN LISTS ARG_MUTANTS)
    dlo_add_test(${prefix}_${_mutant}
      LABEL fault
      SOURCES $<TARGET_OBJECTS:${_tests}> $<TARGET_OBJECTS:dlo_mutant_${_mutant}>
              $<TARGET_OBJECTS:dlo_mutant_name_${_mutant}>
      DEPENDS ${ARG_DEPENDS}
      TIMEOUT ${ARG_TIMEOUT})
  endforeach()
endfunction()
