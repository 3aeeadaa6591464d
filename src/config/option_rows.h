// Owns: the option tables of OffloadOptions, ParallelConfig and NeighbourOptions: name, type,
// default (that of the struct), unit, command-line spelling, help. JSON, flags, help and dumps all
// follow from them.
// Must not own: rules on values (config/rules.h), a command-line library (harness).
// The command line spells what the reference exposes and our extensions; JSON spells everything.
#pragma once

#include "config/neighbour_options.h"
#include "config/offload_options.h"
#include "config/option_table.h"
#include "config/parallel_config.h"

namespace dlo::config {

[[nodiscard]] std::span<const OptionRow<OffloadOptions>> offload_option_rows();
[[nodiscard]] std::span<const OptionRow<ParallelConfig>> parallel_option_rows();
[[nodiscard]] std::span<const OptionRow<NeighbourOptions>> neighbour_option_rows();

// Defaults overwritten by an object's keys. Codes: unknown_option, invalid_value. Whether values
// go together is validate()'s to say.
[[nodiscard]] Result<OffloadOptions> options_from_json(const nlohmann::json& json);
[[nodiscard]] Result<ParallelConfig> parallel_from_json(const nlohmann::json& json);
[[nodiscard]] Result<NeighbourOptions> neighbours_from_json(const nlohmann::json& json);

// Every option, defaults included; reading it back gives an equal value.
[[nodiscard]] nlohmann::json options_to_json(const OffloadOptions& options);
[[nodiscard]] nlohmann::json parallel_to_json(const ParallelConfig& parallel);
[[nodiscard]] nlohmann::json neighbours_to_json(const NeighbourOptions& neighbours);

}  // namespace dlo::config
