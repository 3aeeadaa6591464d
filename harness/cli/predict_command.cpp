#include "harness/cli/predict_command.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <ostream>

#include "base/bytes.h"
#include "base/codes.h"
#include "base/nearest_name.h"
#include "engine/simulation/preset_blocks.h"
#include "harness/cli/prediction_text.h"

namespace dlo::harness {
namespace {

using contracts::Transfer;
using engine::Calibration;
using engine::PredictRequest;

constexpr std::uint64_t kCalibrationBytesMax = 16 * kMiB;
constexpr std::string_view kCommand = "dlo predict";
// A year, far above any block and far below what the virtual clock holds.
constexpr double kMillisecondsMax = 365.0 * 86'400e3;

Refusal usage(std::string what, std::string action) {
  return refuse(codes::kInvalidValue, std::move(what), std::string(kCommand), std::move(action));
}

Result<Calibration> calibration_of(const platform::FileSystem& files,
                                   const PredictArguments& arguments) {
  if (arguments.calibration.empty()) {
    return engine::builtin_calibration(arguments.device);
  }
  const auto text = files.read_text(arguments.calibration, kCalibrationBytesMax);
  if (!text.ok()) {
    return text.refusal();
  }
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    return refuse(codes::kInvalidValue, "the file is no JSON", arguments.calibration,
                  "pass a calibration as dlo predict --json prints under 'calibration'");
  }
  return engine::calibration_from_json(json, arguments.calibration);
}

Result<Transfer> transfer_of(const std::string& name) {
  constexpr std::array kKnown = {Transfer::kResident, Transfer::kRankLocal, Transfer::kAllGather};
  std::vector<std::string_view> names;
  for (const auto transfer : kKnown) {
    names.push_back(contracts::transfer_name(transfer));
    if (names.back() == name) {
      return transfer;
    }
  }
  return refuse(codes::kInvalidValue, "unknown transfer '" + name + "'", "--transfer",
                suggest_name(name, names));
}

Result<Nanoseconds> nanoseconds(double milliseconds, const char* option) {
  if (!std::isfinite(milliseconds) || milliseconds < 0.0 || milliseconds > kMillisecondsMax) {
    return refuse(codes::kInvalidValue, fmt::format("{} ms", milliseconds), option,
                  "give a time of at least 0 and at most a year");
  }
  return static_cast<Nanoseconds>(std::llround(milliseconds * 1e6));
}

Status check_compute(const PredictArguments& arguments, const Calibration& calibration) {
  if (arguments.compute_ms.has_value() == arguments.tokens.has_value()) {
    return usage("the compute of a block is not known, or is given twice",
                 "give --compute-ms, or --tokens with a preset");
  }
  if (arguments.compute_ms) {
    return {};
  }
  if (arguments.preset.empty()) {
    return usage("--tokens without --preset", "give the preset, or --compute-ms");
  }
  if (!calibration.compute.flops_per_s) {
    return usage(fmt::format("calibration '{}' has no rate of operations", calibration.name),
                 "give --compute-ms");
  }
  return {};
}

// Bytes and operations of each block.
Result<std::vector<engine::PresetBlock>> sizes_of(const PredictArguments& arguments) {
  if (arguments.preset.empty() == !arguments.block_bytes.has_value()) {
    return usage("the size of a block is not known, or is given twice",
                 "give --preset, or --block-bytes with --blocks");
  }
  if (!arguments.block_bytes) {
    return engine::preset_blocks(arguments.preset, arguments.blocks, arguments.tokens.value_or(0));
  }
  const std::uint32_t count = arguments.blocks.value_or(0);
  // predict() refuses more; this keeps a slip from taking the memory first.
  constexpr std::uint32_t kBlocksMax = 1'000'000;
  if (count == 0 || count > kBlocksMax) {
    return usage(fmt::format("{} blocks", count), "give --blocks from 1 to 1000");
  }
  return std::vector<engine::PresetBlock>(count, {*arguments.block_bytes});
}

Result<std::vector<engine::PredictedBlock>> blocks_of(const PredictArguments& arguments,
                                                      const Calibration& calibration) {
  const auto sizes = sizes_of(arguments);
  if (!sizes.ok()) {
    return sizes.refusal();
  }
  if (auto status = check_compute(arguments, calibration); !status.ok()) {
    return status.refusal();
  }
  std::vector<engine::PredictedBlock> blocks;
  for (const auto& block : *sizes) {
    const auto compute_ns =
        arguments.compute_ms
            ? nanoseconds(block.of_refiner ? 0.0 : *arguments.compute_ms, "--compute-ms")
            : nanoseconds(block.flops / calibration.compute.flops_per_s->value * 1e3, "--tokens");
    if (!compute_ns.ok()) {
      return compute_ns.refusal();
    }
    blocks.push_back({block.bytes, *compute_ns});
  }
  return blocks;
}

Status set_hot_path(const PredictArguments& arguments, PredictRequest& request) {
  const auto in_range = [](std::int64_t value, std::int64_t low, std::int64_t high) {
    return low <= value && value <= high;
  };
  if (!in_range(arguments.prefetch_depth, 1, config::kPrefetchDepthMax) ||
      !in_range(arguments.input_slots, 1, config::kInputSlotsMax) || arguments.chunk_bytes < 0) {
    return usage(
        fmt::format("prefetch depth {}, {} input slots, chunks of {} bytes",
                    arguments.prefetch_depth, arguments.input_slots, arguments.chunk_bytes),
        "give a depth of 1 to 4, 1 to 1024 input slots and no negative size");
  }
  request.prefetch_depth = static_cast<std::uint32_t>(arguments.prefetch_depth);
  request.input_slots = static_cast<std::uint32_t>(arguments.input_slots);
  request.chunk_bytes = static_cast<std::uint64_t>(arguments.chunk_bytes);
  return {};
}

bool names_file(const Refusal& refusal, const PredictArguments& arguments) {
  return !arguments.calibration.empty() && refusal.where.find(arguments.calibration) == 0;
}

}  // namespace

Result<PredictRequest> predict_request(const platform::FileSystem& files,
                                       const PredictArguments& arguments) {
  auto calibration = calibration_of(files, arguments);
  if (!calibration.ok()) {
    return calibration.refusal();
  }
  const auto transfer = transfer_of(arguments.transfer);
  if (!transfer.ok()) {
    return transfer.refusal();
  }
  auto blocks = blocks_of(arguments, *calibration);
  if (!blocks.ok()) {
    return blocks.refusal();
  }
  const auto other_ns = nanoseconds(arguments.other_ms, "--other-ms");
  if (!other_ns.ok()) {
    return other_ns.refusal();
  }
  PredictRequest request;
  if (auto status = set_hot_path(arguments, request); !status.ok()) {
    return status.refusal();
  }
  request.calibration = std::move(calibration).value();
  request.ranks = arguments.ranks;
  request.group_size = arguments.group;
  request.transfer = *transfer;
  request.blocks = std::move(blocks).value();
  request.other_compute_ns = *other_ns;
  request.forwards = arguments.forwards;
  return request;
}

ExitCode run_predict(const CommandContext& context, const Arguments& arguments) {
  if (!context.is_rank_zero()) {
    return ExitCode::kAllAsExpected;
  }
  const auto request = predict_request(context.files, arguments.predict);
  if (!request.ok()) {
    say_error(context, request.refusal());
    return names_file(request.refusal(), arguments.predict) ? ExitCode::kFellShort
                                                            : ExitCode::kUsage;
  }
  const auto result = engine::predict(*request);
  if (!result.ok()) {
    say_error(context, result.refusal());
    return ExitCode::kUsage;
  }
  if (arguments.json) {
    context.out << prediction_json(*request, *result).dump(1) << '\n';
  } else {
    context.out << prediction_text(*request, *result);
  }
  return ExitCode::kAllAsExpected;
}

}  // namespace dlo::harness
