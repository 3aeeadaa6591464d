# Copies FILES (comma-separated, relative to SOURCE) under ROOT and applies PATCH there.
string(REPLACE "," ";" FILES "${FILES}")
file(REMOVE_RECURSE "${ROOT}/src")
foreach(_file IN LISTS FILES)
  get_filename_component(_folder "${ROOT}/${_file}" DIRECTORY)
  file(MAKE_DIRECTORY "${_folder}")
  configure_file("${SOURCE}/${_file}" "${ROOT}/${_file}" COPYONLY)
endforeach()
# The build folder lies inside the repository: without the ceiling, git would skip ignored paths.
get_filename_component(_parent "${ROOT}" DIRECTORY)
execute_process(
  COMMAND "${CMAKE_COMMAND}" -E env "GIT_CEILING_DIRECTORIES=${_parent}" git apply -p1 "${PATCH}"
  WORKING_DIRECTORY "${ROOT}" RESULT_VARIABLE _result ERROR_VARIABLE _error)
if(NOT _result EQUAL 0)
  message(FATAL_ERROR "mutant patch ${PATCH} does not fit the sources any more: ${_error}")
endif()
file(GLOB_RECURSE _copies "${ROOT}/src/*.cpp")
file(TOUCH ${_copies})
