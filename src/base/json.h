// Owns: the include of the JSON library, and its parser and writer of nlohmann::json, compiled once
// in json.cpp instead of in every source that parses: a third of such a source's compile time, half
// of it under sanitizers.
// Must not own: formats, or reading fields with refusals (host_weights/json_fields.h).
// Threading and failure: those of the library.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

extern template class nlohmann::detail::serializer<nlohmann::json>;
// Of a std::string, and of what views a text.
extern template class nlohmann::detail::parser<
    nlohmann::json, nlohmann::detail::iterator_input_adapter<std::string::const_iterator>>;
extern template class nlohmann::detail::parser<
    nlohmann::json, nlohmann::detail::iterator_input_adapter<const char*>>;
