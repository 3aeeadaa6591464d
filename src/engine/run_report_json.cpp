#include "engine/run_report_json.h"

#include "base/error.h"
#include "config/option_rows.h"
#include "engine/throughput_json.h"

namespace dlo::engine {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RequestDigest, request, sha256)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OwnedBytes, host_private_now, host_private_peak, pinned_now,
                                   pinned_peak, device_now, device_peak, device_in_host,
                                   device_limit, host_private_limit, component_now, component_peak)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProcessMemory, rss_bytes, pss_bytes, private_dirty_bytes,
                                   shared_clean_bytes, pss_file_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BackingFile, path, device, inode)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TrafficLedger, h2d_calls, h2d_bytes, h2d_bytes_planned,
                                   gather_calls, gather_bytes, gather_bytes_planned, forward_count,
                                   repairs)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RequestSpec, count, steps, guidance_scale, latent_frames,
                                   latent_height, latent_width, text_tokens, seed, prompt_tokens,
                                   prompt_token_count)

using nlohmann::json;

namespace {

using contracts::Backing;
using contracts::EffectiveTransfer;
using contracts::Transfer;

template <typename Enum, typename Name>
Enum enum_from_name(const std::string& text, Enum last, const Name& name_of) {
  for (int value = 0; value <= static_cast<int>(last); ++value) {
    if (name_of(static_cast<Enum>(value)) == text) {
      return static_cast<Enum>(value);
    }
  }
  throw LogicError("no enumerator is called '" + text + "'");
}

EffectiveTransfer effective_from_json(const json& object) {
  EffectiveTransfer effective;
  effective.transfer =
      enum_from_name(object.at("transfer"), Transfer::kAllGather, contracts::transfer_name);
  effective.backing =
      enum_from_name(object.at("backing"), Backing::kCheckpointMmap, contracts::backing_name);
  object.at("pinned").get_to(effective.pinned);
  object.at("group_size").get_to(effective.group_size);
  object.at("prefetch_depth").get_to(effective.prefetch_depth);
  object.at("chunk_bytes").get_to(effective.chunk_bytes);
  object.at("streamed_blocks").get_to(effective.streamed_block_count);
  object.at("resident_blocks").get_to(effective.resident_block_count);
  for (const auto& row : object.at("downgrades")) {
    effective.downgrades.push_back({row.at("code"), row.at("reason")});
  }
  return effective;
}

json counts_to_json(const telemetry::ProcessResources& counts) {
  json object = json::object();
  for (const auto& row : telemetry::resource_rows()) {
    object[std::string(row.name)] = counts.*row.figure;
  }
  return object;
}

telemetry::ProcessResources counts_from_json(const json& object) {
  telemetry::ProcessResources counts;
  for (const auto& row : telemetry::resource_rows()) {
    object.at(std::string(row.name)).get_to(counts.*row.figure);
  }
  return counts;
}

json optional_json(const auto& value) {
  return value ? json(*value) : json(nullptr);
}

json crash_to_json(const platform::CrashFault& crash) {
  return json{{"rank", crash.rank},
              {"dies", crash.kind == platform::CrashKind::kDies},
              {"place", platform::crash_place_name(crash.place)},
              {"nth", crash.nth}};
}

json platform_to_json(const PlatformSpec& platform) {
  return json{{"device", platform.device},
              {"share_devices", platform.share_devices},
              {"gather", platform.gather},
              {"nccl_max_ctas", platform.nccl_max_ctas},
              {"nccl_cluster_size", platform.nccl_cluster_size},
              {"device_budget_bytes", optional_json(platform.device_budget_bytes)},
              {"pinned_budget_bytes", optional_json(platform.pinned_budget_bytes)},
              {"pin_fails_on_rank", optional_json(platform.pin_fails_on_rank)},
              {"slow_copy_ns", platform.slow_copy_ns},
              {"slow_file_ns", platform.slow_file_ns},
              {"slow_copy_on_rank", optional_json(platform.slow_copy_on_rank)},
              {"slow_gather_ns", platform.slow_gather_ns},
              {"slow_gather_on_rank", optional_json(platform.slow_gather_on_rank)},
              {"schedule_differs_on_rank", optional_json(platform.schedule_differs_on_rank)},
              {"faults", platform::fault_plan_to_json(platform.faults)},
              {"crash", platform.crash ? crash_to_json(*platform.crash) : json(nullptr)},
              {"wait_timeout_s", platform.wait_timeout_s}};
}

}  // namespace

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kRuns:
      return "runs";
    case Outcome::kRejected:
      return "rejected";
    case Outcome::kFallsBack:
      return "falls_back";
    case Outcome::kFailsClosed:
      return "fails_closed";
  }
  throw LogicError("outcome without a name");
}

json request_to_json(const RunRequest& request) {
  return json{{"name", request.name},
              {"model",
               {{"checkpoint", request.model.checkpoint.string()},
                {"runtime_dtype", dtype_name(request.model.runtime_dtype)},
                {"keep_fp32_modules", request.model.keep_fp32_modules},
                {"fused_projections", request.model.fused_projections},
                {"compute_dtype", dtype_name(request.model.compute_dtype)},
                {"attention", request.model.attention}}},
              {"options", config::options_to_json(request.options)},
              {"parallel", config::parallel_to_json(request.parallel)},
              {"requests", request.requests},
              {"platform", platform_to_json(request.platform)},
              {"throughput", throughput_spec_to_json(request.throughput)},
              {"measure_together", request.measure_together}};
}

json resources_to_json(const std::optional<ResourceChange>& change) {
  if (!change) {
    return nullptr;
  }
  json object{{"before", counts_to_json(change->before)}, {"after", counts_to_json(change->after)}};
  // Of all the names only those that a leak's line needs; most reports have none.
  for (const auto& row : telemetry::resource_rows()) {
    if (const auto names = telemetry::new_names(row, change->before, change->after);
        !names.empty()) {
      object["new"][std::string(row.name)] = names;
    }
  }
  return object;
}

std::optional<ResourceChange> resources_from_json(const json& object) {
  if (object.is_null()) {
    return std::nullopt;
  }
  ResourceChange change{counts_from_json(object.at("before")),
                        counts_from_json(object.at("after"))};
  const auto named = object.find("new");
  for (const auto& row : telemetry::resource_rows()) {
    if (named != object.end() && row.names != nullptr && named->contains(row.name)) {
      named->at(std::string(row.name)).get_to(change.after.*row.names);
    }
  }
  return change;
}

json effective_to_json(const EffectiveTransfer& effective) {
  json downgrades = json::array();
  for (const auto& downgrade : effective.downgrades) {
    downgrades.push_back({{"code", downgrade.code}, {"reason", downgrade.reason}});
  }
  return json{{"transfer", contracts::transfer_name(effective.transfer)},
              {"backing", contracts::backing_name(effective.backing)},
              {"pinned", effective.pinned},
              {"group_size", effective.group_size},
              {"prefetch_depth", effective.prefetch_depth},
              {"chunk_bytes", effective.chunk_bytes},
              {"streamed_blocks", effective.streamed_block_count},
              {"resident_blocks", effective.resident_block_count},
              {"downgrades", downgrades}};
}

json rank_report_to_json(const RankReport& report) {
  return json{{"rank", report.rank},
              {"coordinates",
               {{"dp", report.coordinates.dp},
                {"sp", report.coordinates.sp},
                {"tp", report.coordinates.tp}}},
              {"effective", effective_to_json(report.effective)},
              {"owned", report.owned},
              {"baseline", report.baseline},
              {"process", report.process},
              {"weight_bytes", report.weight_bytes},
              {"mapped_files", report.mapped_files},
              {"traffic", report.traffic},
              {"outputs", report.outputs},
              {"forward_ms", report.forward_ms},
              {"events", report.events},
              {"code", report.code},
              {"message", report.message},
              {"weight_group", report.weight_group},
              {"gather", report.gather},
              {"fault_count", report.fault_count},
              {"resources", resources_to_json(report.resources)},
              {"abandoned_buffers", report.abandoned_buffers},
              {"throughput",
               report.throughput ? throughput_report_to_json(*report.throughput) : json(nullptr)}};
}

RankReport rank_report_from_json(const json& object) {
  RankReport report;
  object.at("rank").get_to(report.rank);
  const auto& coordinates = object.at("coordinates");
  report.coordinates = {coordinates.at("dp"), coordinates.at("sp"), coordinates.at("tp")};
  report.effective = effective_from_json(object.at("effective"));
  object.at("owned").get_to(report.owned);
  object.at("baseline").get_to(report.baseline);
  object.at("process").get_to(report.process);
  object.at("weight_bytes").get_to(report.weight_bytes);
  object.at("mapped_files").get_to(report.mapped_files);
  object.at("traffic").get_to(report.traffic);
  object.at("outputs").get_to(report.outputs);
  object.at("forward_ms").get_to(report.forward_ms);
  object.at("events").get_to(report.events);
  object.at("code").get_to(report.code);
  object.at("message").get_to(report.message);
  object.at("weight_group").get_to(report.weight_group);
  object.at("gather").get_to(report.gather);
  object.at("fault_count").get_to(report.fault_count);
  report.resources = resources_from_json(object.at("resources"));
  object.at("abandoned_buffers").get_to(report.abandoned_buffers);
  if (!object.at("throughput").is_null()) {
    report.throughput = std::make_shared<const ThroughputReport>(
        throughput_report_from_json(object.at("throughput")));
  }
  return report;
}

}  // namespace dlo::engine
