// Owns: Listing, the names, dtypes and shapes of a model's tensors as the reference class lists
// them: `name TAB dtype TAB [a,b]` a line; read from a file, and made of every ring of a model.
// Must not own: models or expectations. Names in a listing are without the component prefix.
#pragma once

#include <map>
#include <string>

#include "model/dit_model.h"

namespace dlo::test {

struct Listed {
  std::string dtype;
  std::string shape;

  friend bool operator==(const Listed&, const Listed&) = default;
};
using Listing = std::map<std::string, Listed>;

// `file` lies in the folder names of the golden fixtures.
[[nodiscard]] Listing read_listing(const std::string& file);

// Of a model whose component is "transformer"; checks its table too.
[[nodiscard]] Listing listing_of(const model::DitModel& model);

// Contiguous bytes of every tensor together.
[[nodiscard]] std::uint64_t tensor_bytes_of(const model::DitModel& model);

}  // namespace dlo::test
