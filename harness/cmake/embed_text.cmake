# Turns a text file into a C++ source with one function that returns it.
#   cmake -DINPUT=schema.json -DOUTPUT=schema.cpp -DFUNCTION=scenario_schema_text
#         -P embed_text.cmake
file(READ "${INPUT}" _text)
# Adjacent literals: a compiler need not accept one above 64 KiB.
string(LENGTH "${_text}" _length)
set(_literals "")
set(_at 0)
while(_at LESS _length)
  string(SUBSTRING "${_text}" ${_at} 8000 _piece)
  string(APPEND _literals "    R\"dlo_text(${_piece})dlo_text\"\n")
  math(EXPR _at "${_at} + 8000")
endwhile()
file(WRITE "${OUTPUT}"
  "#include \"harness/embedded.h\"\n\n"
  "namespace dlo::harness {\n\n"
  "std::string_view ${FUNCTION}() {\n  return\n${_literals}      ;\n}\n\n"
  "}  // namespace dlo::harness\n")
