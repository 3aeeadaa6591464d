// Owns: the one table of configuration rules: code, stage, predicate, message (reference 1.3).
// Must not own: parsing (config/option_rows.h) or normalisation (config/offload_config.h).
// Rules of the reference keep its numbers; rules that this product adds are CFG-60 and above; what
// it does not contain is refused at the engine stage as not_in_this_product.
// Deviates from vLLM-Omni: every violated rule of a stage is reported, not the first one only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/refusal.h"
#include "config/neighbour_options.h"
#include "config/offload_options.h"
#include "config/parallel_config.h"

namespace dlo::config {

enum class Stage : std::uint8_t { kConstruct, kNormalise, kFactory, kLoader, kEngine };

[[nodiscard]] std::string_view stage_name(Stage stage);  // "construct", "normalise", ...

// Everything that a rule may look at.
struct Configuration {
  OffloadOptions options;
  ParallelConfig parallel;
  NeighbourOptions neighbours;
};

struct Rule {
  std::string_view code;  // "CFG-04"
  Stage stage;
  std::string_view subject;  // option at fault, for Refusal::where
  bool (*violated)(const Configuration&);
  std::string (*what)(const Configuration&);  // with the offending values
  std::string_view action;
};

// Rules of the reference and of this product's own options, in code order.
[[nodiscard]] std::span<const Rule> configuration_rules();

// Values that pass the rules and that this product does not implement (yet): a later feature
// deletes its row. All have the code not_in_this_product and the engine stage.
[[nodiscard]] std::span<const Rule> unsupported_rules();

// Every violated rule of `stage`, sorted by code, then in table order.
[[nodiscard]] std::vector<Refusal> check_stage(Stage stage, const Configuration& configuration);

}  // namespace dlo::config
