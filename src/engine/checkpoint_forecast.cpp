#include "engine/checkpoint_forecast.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "backend/placement_plan.h"
#include "backend/transfer_plan.h"
#include "base/codes.h"
#include "base/failure_signal.h"
#include "config/validate.h"
#include "engine/checkpoint_model.h"
#include "engine/checkpoint_sources.h"
#include "host_weights/model_index.h"
#include "host_weights/preflight.h"
#include "platform/cpu/cpu_device.h"
#include "platform/posix/steady_clock.h"

namespace dlo::engine {

namespace {

using contracts::Backing;
using contracts::BlockSpec;

// Modulation: one product with the time embedding a block, whatever the number of tokens
// (models.md 4.2, 4.3).
constexpr std::array<std::string_view, 4> kModulations = {
    ".norm1.linear.", ".norm1_context.linear.", ".norm.linear.", ".adaln_proj.linear."};

bool does_no_token_work(const std::string& name) {
  return std::any_of(kModulations.begin(), kModulations.end(),
                     [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

BlockForecast forecast_block(const BlockSpec& spec, bool is_block) {
  const contracts::BlockLayout layout(spec);
  BlockForecast block{spec.name, spec.tensors.size(), layout.tensor_bytes(), layout.bytes(), 0,
                      is_block};
  for (const auto& tensor : spec.tensors) {
    block.no_token_bytes += is_block && does_no_token_work(tensor.name) ? tensor.span_bytes() : 0;
  }
  return block;
}

std::vector<BlockForecast> forecast_blocks(const contracts::ParameterTable& table) {
  std::vector<BlockForecast> blocks;
  for (const auto& dit : table.dits) {
    for (const auto& block : dit.blocks) {
      blocks.push_back(forecast_block(block, true));
    }
    if (!dit.non_block.tensors.empty()) {
      blocks.push_back(forecast_block(dit.non_block, false));
    }
  }
  return blocks;
}

SourceForecast forecast_source(const platform::FileSystem& files, const platform::Path& root,
                               const host_weights::ComponentEntry& entry) {
  SourceForecast source;
  source.component = entry.name;
  source.class_name = entry.class_name;
  const auto opened = host_weights::SourceTensors::open(
      files, {.path = root, .subfolder = entry.name, .prefix = "", .file_patterns = {}});
  if (!opened) {
    source.note = opened.refusal().code == codes::kFileNotFound ? "not in the folder"
                                                                : opened.refusal().message();
    return source;
  }
  std::set<std::string_view> dtypes;
  for (const auto& [key, tensor] : opened->tensors()) {
    ++source.tensor_count;
    source.bytes += tensor.record->size_bytes();
    dtypes.insert(dtype_name(tensor.record->dtype));
  }
  source.file_count = opened->file_paths().size();
  source.dtypes = fmt::format("{}", fmt::join(dtypes, ", "));
  return source;
}

// Components without weights (schedulers, tokenizers) are left out.
std::vector<SourceForecast> forecast_sources(const platform::FileSystem& files,
                                             const platform::Path& root) {
  std::vector<SourceForecast> sources;
  const auto index = host_weights::read_model_index(files, root);
  if (!index) {
    return sources;
  }
  for (const auto& entry : index->components) {
    if (entry.name.starts_with("scheduler") || entry.name.starts_with("tokenizer")) {
      continue;
    }
    sources.push_back(forecast_source(files, root, entry));
  }
  return sources;
}

// What becomes of components beside the transformers.
void place_components(const platform::FileSystem& files, const ForecastRequest& request,
                      const platform::Device& device, const CheckpointModel& model,
                      std::vector<SourceForecast>& sources) {
  const auto with_text = read_checkpoint_model(files, request.model, device, TextSource::kEncoder);
  const auto transformers = model.components();
  for (auto& source : sources) {
    if (std::find(transformers.begin(), transformers.end(), source.component) !=
        transformers.end()) {
      continue;
    }
    source.placement = kNotRead;
    if (!with_text.ok() && source.component == host_weights::kTextEncoderName) {
      source.note = fmt::format("{}: {}", with_text.refusal().code, with_text.refusal().what);
    }
    if (with_text.ok() && source.component == with_text->text_encoder()->spec().name) {
      source.placement = kOnDemand;
      source.device_bytes = contracts::BlockLayout(with_text->text_encoder()->spec()).bytes();
    }
  }
}

std::uint64_t streamed_tensor_bytes(const backend::PlacementPlan& placement) {
  std::uint64_t bytes = 0;
  for (const auto& dit : placement.dits) {
    for (const auto& block : dit.blocks) {
      bytes += block.residency == backend::Residency::kResident ? 0 : block.layout.tensor_bytes();
    }
  }
  return bytes;
}

ModeForecast forecast_mode(const contracts::ParameterTable& table,
                           const contracts::OffloadPlan& offload_plan,
                           const config::OffloadConfig& config, Backing backing) {
  const auto placement =
      backend::plan_placement(table, {.stream = backend::wants_streaming(config),
                                      .resident_layers = config.dlo_resident_layers,
                                      .offload_plan = offload_plan});
  const std::uint32_t group = config.dlo_use_allgather ? config.dp_size : 1;
  const auto plan = backend::plan_transfer(config, placement, group, backing);
  ModeForecast mode;
  mode.name = contracts::transfer_name(plan.effective.transfer);
  mode.effective = plan.effective;
  mode.memory = plan.memory;
  mode.host_private_bytes = plan.memory.host_store_bytes + plan.memory.staging_bytes();
  if (plan.effective.transfer == contracts::Transfer::kStaged) {
    mode.mapped_bytes = streamed_tensor_bytes(placement);
  }
  for (const auto& traffic : plan.traffic.per_forward) {
    mode.per_forward += traffic;
  }
  return mode;
}

// The configurations behind the four modes; `options` is changed in nothing else.
std::vector<std::pair<config::OffloadOptions, Backing>> mode_options(
    const config::OffloadOptions& options, bool planned) {
  config::OffloadOptions resident = options;
  resident.enable_distributed_layerwise_offload = false;
  config::OffloadOptions rank_local = options;
  rank_local.enable_distributed_layerwise_offload = true;
  rank_local.dlo_use_allgather = false;
  config::OffloadOptions all_gather = rank_local;
  all_gather.dlo_use_allgather = true;
  all_gather.dlo_resident_layers = 0;
  const Backing mapped = planned ? Backing::kCheckpointMmap : Backing::kOrdinary;
  std::vector<std::pair<config::OffloadOptions, Backing>> modes = {
      {resident, Backing::kOrdinary}, {rank_local, Backing::kOrdinary}};
  if (planned) {
    modes.emplace_back(rank_local, mapped);
  }
  modes.emplace_back(all_gather, mapped);
  return modes;
}

void forecast_modes(const ForecastRequest& request, const contracts::ParameterTable& table,
                    const contracts::OffloadPlan& offload_plan, CheckpointForecast& forecast) {
  const auto chosen_config = config::normalise(request.options, request.parallel);
  const bool mapped =
      forecast.planned && chosen_config.checkpoint_mmap && backend::wants_streaming(chosen_config);
  const auto chosen = forecast_mode(table, offload_plan, chosen_config,
                                    mapped ? Backing::kCheckpointMmap : Backing::kOrdinary);
  for (const auto& [options, backing] : mode_options(request.options, forecast.planned)) {
    auto mode =
        forecast_mode(table, offload_plan, config::normalise(options, request.parallel), backing);
    const bool known = std::any_of(forecast.modes.begin(), forecast.modes.end(),
                                   [&](const auto& other) { return other.name == mode.name; });
    if (known) {
      continue;  // without a group AllGather is one of the others
    }
    if (mode.name == chosen.name) {
      mode = chosen;
      mode.chosen = true;
    }
    forecast.modes.push_back(std::move(mode));
  }
}

}  // namespace

std::uint64_t CheckpointForecast::no_token_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& block : blocks) {
    bytes += block.no_token_bytes;
  }
  return bytes;
}

Result<CheckpointForecast> forecast_checkpoint(const platform::FileSystem& files,
                                               const ForecastRequest& request) {
  platform::SteadyClock clock;
  const auto signal = make_local_failure_signal();
  const auto device = platform::make_cpu_device({}, clock, *signal);
  const auto model = read_checkpoint_model(files, request.model, *device);
  if (!model) {
    return model.refusal();
  }
  const auto table = model->table();
  const auto config = config::normalise(request.options, request.parallel);
  const auto load = weight_load_request(table, model->components(), request.model.checkpoint,
                                        config, request.parallel);
  auto preflight = host_weights::preflight_request(load);
  preflight.online_quantization = request.online_quantization;
  const auto plan = host_weights::preflight_checkpoint(files, preflight);
  CheckpointForecast forecast;
  forecast.planned = plan.ok();
  forecast.verdict = plan.ok() ? Refusal{} : plan.refusal();
  forecast.notes = model->pipeline().notes;
  forecast.violations = config::validate(request.options, request.parallel).violations;
  forecast.sources = forecast_sources(files, request.model.checkpoint);
  place_components(files, request, *device, *model, forecast.sources);
  forecast.blocks = forecast_blocks(table);
  forecast_modes(request, table, model->pipeline().offload_plan, forecast);
  return forecast;
}

}  // namespace dlo::engine
