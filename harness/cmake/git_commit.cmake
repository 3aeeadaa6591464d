# Writes a source with the commit that the working tree stands at; untouched when nothing changed,
# so that only a new commit recompiles it.
#   cmake -DSOURCE_DIR=. -DOUTPUT=commit.cpp -P git_commit.cmake
execute_process(COMMAND git -C "${SOURCE_DIR}" rev-parse --short=12 HEAD
  OUTPUT_VARIABLE _commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE _status)
# Reports are made by the program: a new one does not make it another program.
execute_process(COMMAND git -C "${SOURCE_DIR}" diff --quiet HEAD -- . ":(exclude)reports"
  ERROR_QUIET RESULT_VARIABLE _changed)
if(NOT _status EQUAL 0)
  set(_commit "unknown")
elseif(NOT _changed EQUAL 0)
  string(APPEND _commit "-dirty")
endif()
string(CONCAT _text
  "#include \"harness/build_info.h\"\n\n"
  "std::string_view dlo::harness::commit_text() { return \"${_commit}\"; }\n")
set(_old "")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" _old)
endif()
if(NOT _old STREQUAL _text)
  file(WRITE "${OUTPUT}" "${_text}")
endif()
