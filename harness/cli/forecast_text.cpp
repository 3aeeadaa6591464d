#include "harness/cli/forecast_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"

namespace dlo::harness {
namespace {

using engine::BlockForecast;
using engine::CheckpointForecast;
using engine::ForecastRequest;
using engine::ModeForecast;
using nlohmann::ordered_json;

constexpr const char* kPlanned = "planned";

std::string topology_text(const config::ParallelConfig& parallel) {
  return fmt::format("DP {}, TP {}, SP {}{}", parallel.data_parallel_size,
                     parallel.tensor_parallel_size, config::sequence_size(parallel),
                     parallel.use_hsdp ? ", HSDP" : "");
}

// Its files were read, whatever is noted of it.
bool is_open(const engine::SourceForecast& source) {
  return source.file_count > 0 || source.note.empty();
}

std::string sources_text(const CheckpointForecast& forecast) {
  std::string text = "\nSources\n";
  for (const auto& source : forecast.sources) {
    text += fmt::format("  {:<16} {:<28} ", source.component, source.class_name);
    const bool opened = is_open(source);
    text += opened ? fmt::format("{} file{}, {} tensors, {}, {}\n", source.file_count,
                                 source.file_count == 1 ? "" : "s", source.tensor_count,
                                 format_bytes(source.bytes), source.dtypes)
                   : source.note + "\n";
    if (source.placement == engine::kOnDemand) {
      text += fmt::format(
          "  {:<16} {}: with prompts, {} on the device before a request denoises, beside what a "
          "mode takes; there for good when resident\n",
          "", source.placement, format_bytes(source.device_bytes));
    } else if (!source.placement.empty() && opened) {
      text += fmt::format("  {:<16} {} by this product{}{}\n", "", source.placement,
                          source.note.empty() ? "" : ": ", source.note);
    }
  }
  return text;
}

bool same_size(const BlockForecast& a, const BlockForecast& b) {
  return a.block && b.block && a.tensor_count == b.tensor_count && a.bytes == b.bytes &&
         a.padded_bytes == b.padded_bytes && a.no_token_bytes == b.no_token_bytes;
}

// A line of the block table: blocks that are alike.
struct BlockLine {
  std::string name;
  const BlockForecast* block = nullptr;
};

std::vector<BlockLine> block_lines(const std::vector<BlockForecast>& blocks) {
  std::vector<BlockLine> lines;
  for (std::size_t first = 0; first < blocks.size();) {
    std::size_t end = first + 1;
    while (end < blocks.size() && same_size(blocks[first], blocks[end])) {
      ++end;
    }
    const auto& block = blocks[first];
    lines.push_back({end - first == 1 ? block.name
                                      : fmt::format("{} and {} alike", block.name, end - first - 1),
                     &block});
    first = end;
  }
  return lines;
}

std::string blocks_text(const CheckpointForecast& forecast) {
  const auto lines = block_lines(forecast.blocks);
  std::size_t width = 0;
  for (const auto& line : lines) {
    width = std::max(width, line.name.size());
  }
  std::string text = fmt::format("\n{:<{}} {:>7} {:>12} {:>12} {:>14}\n", "Blocks", width + 2,
                                 "tensors", "bytes", "in a slot", "no token work");
  for (const auto& [name, block] : lines) {
    text += fmt::format("  {:<{}} {:>7} {:>12} {:>12} {:>14}\n", name, width, block->tensor_count,
                        format_bytes(block->bytes), format_bytes(block->padded_bytes),
                        format_bytes(block->no_token_bytes));
  }
  return text + fmt::format("  Bytes of blocks that do no work per token: {}\n",
                            format_bytes(forecast.no_token_bytes()));
}

std::string mode_text(const ModeForecast& mode) {
  const auto& memory = mode.memory;
  std::string text = fmt::format(
      "{} {:<12} {:>12} {:>14} {:>12} {:>12} {:>12} {:>12}\n", mode.chosen ? " *" : "  ", mode.name,
      format_bytes(memory.device_limit_bytes()), format_bytes(mode.host_private_bytes),
      format_bytes(memory.pinned_bytes()), format_bytes(mode.mapped_bytes),
      format_bytes(mode.per_forward.h2d_bytes), format_bytes(mode.per_forward.gather_bytes));
  text += fmt::format("     {} slots of {}", memory.slot_count, format_bytes(memory.slot_bytes));
  if (memory.input_slot_count > 0) {
    text += fmt::format(", {} input slots of {}", memory.input_slot_count,
                        format_bytes(memory.input_slot_bytes));
  }
  if (memory.staging_chunk_count > 0) {
    text += fmt::format(", {} staging chunks of {}", memory.staging_chunk_count,
                        format_bytes(memory.staging_chunk_bytes));
  }
  text += fmt::format(", resident {}, outside the blocks {}\n", format_bytes(memory.resident_bytes),
                      format_bytes(memory.non_block_bytes));
  for (const auto& downgrade : mode.effective.downgrades) {
    text += fmt::format("     {}: {}\n", downgrade.code, downgrade.reason);
  }
  return text;
}

ordered_json source_json(const engine::SourceForecast& source) {
  ordered_json json{{"component", source.component}, {"class", source.class_name}};
  if (!source.note.empty()) {
    json["note"] = source.note;
  }
  if (!is_open(source)) {
    return json;
  }
  json["files"] = source.file_count;
  json["tensors"] = source.tensor_count;
  json["bytes"] = source.bytes;
  json["dtypes"] = source.dtypes;
  if (!source.placement.empty()) {
    json["placement"] = source.placement;
    json["device_bytes"] = source.device_bytes;
  }
  return json;
}

ordered_json block_json(const BlockForecast& block) {
  return {{"name", block.name},
          {"block", block.block},
          {"tensors", block.tensor_count},
          {"bytes", block.bytes},
          {"padded_bytes", block.padded_bytes},
          {"no_token_bytes", block.no_token_bytes}};
}

ordered_json mode_json(const ModeForecast& mode) {
  const auto& memory = mode.memory;
  ordered_json downgrades = ordered_json::array();
  for (const auto& downgrade : mode.effective.downgrades) {
    downgrades.push_back({{"code", downgrade.code}, {"reason", downgrade.reason}});
  }
  return {{"mode", mode.name},
          {"chosen", mode.chosen},
          {"backing", contracts::backing_name(mode.effective.backing)},
          {"group_size", mode.effective.group_size},
          {"device_bytes", memory.device_limit_bytes()},
          {"slots", memory.slot_count},
          {"slot_bytes", memory.slot_bytes},
          {"input_slots", memory.input_slot_count},
          {"input_slot_bytes", memory.input_slot_bytes},
          {"resident_bytes", memory.resident_bytes},
          {"non_block_bytes", memory.non_block_bytes},
          {"host_private_bytes", mode.host_private_bytes},
          {"pinned_bytes", memory.pinned_bytes()},
          {"staging_bytes", memory.staging_bytes()},
          {"mapped_bytes", mode.mapped_bytes},
          {"h2d_bytes_per_forward", mode.per_forward.h2d_bytes},
          {"gather_bytes_per_forward", mode.per_forward.gather_bytes},
          {"downgrades", downgrades}};
}

template <typename Item, typename ToJson>
ordered_json array_of(const std::vector<Item>& items, const ToJson& to_json) {
  ordered_json array = ordered_json::array();
  for (const auto& item : items) {
    array.push_back(to_json(item));
  }
  return array;
}

}  // namespace

std::string forecast_text(const ForecastRequest& request, const CheckpointForecast& forecast) {
  std::string text =
      fmt::format("{}: {}\n", request.model.checkpoint.string(), topology_text(request.parallel));
  text += forecast.planned
              ? std::string("Verdict: the checkpoint can be mapped as it is\n")
              : fmt::format("Verdict: {}: {}\n", forecast.verdict.code, forecast.verdict.what);
  for (const auto& violation : forecast.violations) {
    text += fmt::format("A run would be refused: {}\n", violation.message());
  }
  for (const auto& note : forecast.notes) {
    text += fmt::format("Note: {}\n", note);
  }
  text += sources_text(forecast);
  text += blocks_text(forecast);
  text += fmt::format("\n{:<15} {:>12} {:>14} {:>12} {:>12} {:>12} {:>12}\n", "A rank, by mode",
                      "device", "host, private", "of it pinned", "mapped", "H2D", "gathered");
  for (const auto& mode : forecast.modes) {
    text += mode_text(mode);
  }
  return text +
         "  * what the given options do; mapped bytes are shared by all ranks of a node; H2D and "
         "gathered bytes are of one forward\n";
}

ordered_json forecast_json(const ForecastRequest& request, const CheckpointForecast& forecast) {
  const auto& parallel = request.parallel;
  ordered_json json;
  json["checkpoint"] = request.model.checkpoint.string();
  json["topology"] = {{"dp", parallel.data_parallel_size},
                      {"tp", parallel.tensor_parallel_size},
                      {"sp", config::sequence_size(parallel)},
                      {"hsdp", parallel.use_hsdp}};
  json["verdict"] = {{"code", forecast.planned ? kPlanned : forecast.verdict.code},
                     {"reason", forecast.verdict.what}};
  json["violations"] = array_of(forecast.violations, [](const Refusal& refusal) {
    return ordered_json{{"code", refusal.code}, {"message", refusal.message()}};
  });
  json["sources"] = array_of(forecast.sources, source_json);
  json["blocks"] = array_of(forecast.blocks, block_json);
  json["no_token_bytes"] = forecast.no_token_bytes();
  json["modes"] = array_of(forecast.modes, mode_json);
  json["notes"] = forecast.notes;
  return json;
}

}  // namespace dlo::harness
