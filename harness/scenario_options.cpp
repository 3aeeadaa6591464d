#include "harness/scenario_options.h"

#include <fmt/format.h>

#include "base/codes.h"
#include "config/option_rows.h"

namespace dlo::harness {

Result<config::OffloadOptions> read_options(const Json& object, const std::string& where) {
  nlohmann::json fields = object.value("options", Json::object());
  if (object.contains("transfer")) {
    for (const char* name : {"enable_distributed_layerwise_offload", "dlo_use_allgather"}) {
      if (fields.contains(name)) {
        return refuse(codes::kInvalidValue, fmt::format("transfer and option {} both", name), where,
                      "transfer sets it; leave one of the two out");
      }
    }
    const auto transfer = object.at("transfer").get<std::string>();
    fields["enable_distributed_layerwise_offload"] = transfer != "resident";
    if (transfer != "resident") {
      fields["dlo_use_allgather"] = transfer == "all_gather";
    }
  }
  // A resident run has no backing: its options stay those of every resident run.
  if (object.contains("backing") && object.value("transfer", "") != "resident") {
    if (fields.contains("dlo_checkpoint_mmap")) {
      return refuse(codes::kInvalidValue, "backing and option dlo_checkpoint_mmap both", where,
                    "backing sets it; leave one of the two out");
    }
    fields["dlo_checkpoint_mmap"] = object.at("backing") == "checkpoint_mmap";
  }
  Result<config::OffloadOptions> options = config::options_from_json(fields);
  if (!options) {
    // The file is the place to mend, whoever found the mistake.
    Refusal refusal = options.refusal();
    refusal.what = "options: " + refusal.what;
    refusal.where = where;
    return refusal;
  }
  return options;
}

}  // namespace dlo::harness
