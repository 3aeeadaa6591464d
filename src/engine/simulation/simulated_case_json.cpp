#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "base/codes.h"
#include "base/nearest_name.h"
#include "engine/simulation/simulated_case.h"

namespace dlo::engine {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(SimulatedCase, ring_blocks, ranks, use_allgather,
                                                pin_cpu_memory, prefetch_depth, input_slots,
                                                chunk_bytes, requests, walks_per_request,
                                                skip_blocks, shape_seed, mapped,
                                                staging_chunk_bytes, staging_bytes, resident_layers,
                                                two_lists, children)

namespace {

constexpr std::array<std::string_view, 17> kNames = {
    "ring_blocks",         "ranks",          "use_allgather",
    "pin_cpu_memory",      "prefetch_depth", "input_slots",
    "chunk_bytes",         "requests",       "walks_per_request",
    "skip_blocks",         "shape_seed",     "mapped",
    "staging_chunk_bytes", "staging_bytes",  "resident_layers",
    "two_lists",           "children"};

Status check_ranges(const SimulatedCase& c) {
  const auto wrong = [](std::string what) {
    return Status(refuse(codes::kInvalidValue, std::move(what), "case", "see dlo explore --help"));
  };
  if (c.ring_blocks.empty() || c.ring_blocks.size() > 4) {
    return wrong("ring_blocks needs one to four rings");
  }
  for (const auto blocks : c.ring_blocks) {
    if (blocks == 0 || blocks > 1000) {
      return wrong("a ring has 1 to 1000 blocks");
    }
  }
  if (c.children && c.ring_blocks.size() < 2) {
    return wrong("children need ring_blocks of at least two rings");
  }
  if (c.ranks == 0 || c.ranks > 64 || (c.ranks > 1 && !c.use_allgather)) {
    return wrong("ranks must be 1 to 64, and 1 without AllGather");
  }
  if (c.prefetch_depth == 0 || c.prefetch_depth > 4 || c.input_slots == 0) {
    return wrong("prefetch_depth must be 1 to 4 and input_slots at least 1");
  }
  if (c.chunk_bytes % kTensorAlignmentBytes != 0) {
    return wrong("chunk_bytes must be a multiple of 256");
  }
  if ((c.skip_blocks || c.resident_layers > 0) && c.use_allgather) {
    return wrong("skip_blocks and resident_layers need use_allgather false");
  }
  if (c.staging_chunk_bytes % kTensorAlignmentBytes != 0 ||
      (c.staging_bytes != 0 &&
       c.staging_bytes / 2 < std::max(c.staging_chunk_bytes, kTensorAlignmentBytes))) {
    return wrong("staging_bytes must hold two chunks, of a multiple of 256 bytes");
  }
  return {};
}

}  // namespace

nlohmann::json case_to_json(const SimulatedCase& simulated) {
  return simulated;
}

Result<SimulatedCase> case_from_json(const nlohmann::json& json) {
  if (!json.is_object()) {
    return refuse(codes::kInvalidValue, "a case must be a JSON object", "case",
                  "see dlo explore --help");
  }
  for (const auto& [key, value] : json.items()) {
    if (std::find(kNames.begin(), kNames.end(), key) == kNames.end()) {
      return refuse(codes::kUnknownOption, "unknown key '" + key + "' in a case", "case",
                    suggest_name(key, kNames));
    }
  }
  try {
    auto simulated = json.get<SimulatedCase>();
    if (auto status = check_ranges(simulated); !status.ok()) {
      return status.refusal();
    }
    return simulated;
  } catch (const nlohmann::json::exception& error) {
    return refuse(codes::kInvalidValue, error.what(), "case", "see dlo explore --help");
  }
}

}  // namespace dlo::engine
