#include "harness/cli/prediction_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "contracts/effective_transfer.h"

namespace dlo::harness {
namespace {

using contracts::Transfer;
using engine::Evidence;
using engine::Figure;
using engine::PredictRequest;
using engine::PredictResult;
using engine::Resource;
using nlohmann::json;

constexpr std::array kResources = {Resource::kCompute, Resource::kH2d, Resource::kGather,
                                   Resource::kHost};

std::size_t index(Resource resource) {
  return static_cast<std::size_t>(resource);
}

double milliseconds(Nanoseconds time) {
  return static_cast<double>(time) / 1e6;
}

Nanoseconds per_block(const PredictRequest& request, Nanoseconds of_forward) {
  return of_forward / static_cast<Nanoseconds>(request.blocks.size());
}

std::uint32_t group_of(const PredictRequest& request) {
  if (request.transfer != Transfer::kAllGather) {
    return 1;
  }
  return request.group_size == 0 ? request.ranks : request.group_size;
}

struct NamedFigure {
  std::string name;
  Figure figure;
};

// Every figure that the request's transfer can touch.
std::vector<NamedFigure> figures_of(const PredictRequest& request, const PredictResult& result) {
  const auto& calibration = request.calibration;
  std::vector<NamedFigure> figures;
  if (calibration.compute.flops_per_s) {
    figures.push_back({"compute, FLOP/s", *calibration.compute.flops_per_s});
  }
  if (!result.rates.empty()) {
    figures.push_back({fmt::format("h2d, B/s a rank of {}", request.ranks), result.rates[0]});
    figures.push_back({"h2d latency, ns", calibration.h2d.latency_ns});
    figures.push_back({"lost beside copies", calibration.compute.lost_beside_copy});
    figures.push_back({"host, ns a copy", calibration.host.copy_ns});
  }
  if (result.rates.size() > 1) {
    figures.push_back({fmt::format("gather, B/s over {}", group_of(request)), result.rates[1]});
    figures.push_back({"gather latency, ns", calibration.gather.latency_ns});
    figures.push_back({"lost beside gathers", calibration.compute.lost_beside_gather});
    figures.push_back({"host, ns a gather", calibration.host.gather_ns});
  }
  figures.push_back({"host, ns an event", calibration.host.event_ns});
  figures.push_back({"host, ns a block", calibration.host.block_ns});
  return figures;
}

std::string heading(const PredictRequest& request, const PredictResult& result) {
  std::uint64_t bytes = 0;
  Nanoseconds compute_ns = 0;
  for (const auto& block : request.blocks) {
    bytes = std::max(bytes, block.bytes);
    compute_ns += block.compute_ns;
  }
  std::string text = fmt::format(
      "{}: {}\n{} blocks of {:.1f} MB and {:.3f} ms of compute; {} rank{}, {}",
      request.calibration.name, request.calibration.source, request.blocks.size(),
      static_cast<double>(bytes) / 1e6, milliseconds(per_block(request, compute_ns)), request.ranks,
      request.ranks == 1 ? "" : "s", contracts::transfer_name(request.transfer));
  if (request.transfer != Transfer::kResident) {
    text += fmt::format(", depth {}", request.prefetch_depth);
  }
  if (group_of(request) > 1) {
    text += fmt::format(", groups of {}, {} chunk{} a block, {} input slot{}", group_of(request),
                        result.chunks_per_block, result.chunks_per_block == 1 ? "" : "s",
                        request.input_slots, request.input_slots == 1 ? "" : "s");
  }
  return text + "\n\n";
}

std::string times_table(const PredictRequest& request, const PredictResult& result) {
  const Nanoseconds limit = result.busy_ns.at(index(result.bound));
  const auto bound = engine::resource_name(result.bound);
  const auto row = [&](const char* name, Nanoseconds time, Nanoseconds its_limit) {
    const double share = 100.0 * static_cast<double>(its_limit) /
                         static_cast<double>(std::max<Nanoseconds>(time, 1));
    return fmt::format("{:<22} {:>11.3f} ms {:>11.3f} ms {:>7.1f} %  {}\n", name,
                       milliseconds(time), milliseconds(its_limit), share, bound);
  };
  const auto plain = [](const char* name, Nanoseconds time) {
    return fmt::format("{:<22} {:>11.3f} ms\n", name, milliseconds(time));
  };
  return fmt::format("{:<22} {:>14} {:>14} {:>9}  {}\n", "time", "predicted", "limit", "share",
                     "limit of") +
         row("block p50", result.block_p50_ns, per_block(request, limit)) +
         row("block p99", result.block_p99_ns, per_block(request, limit)) +
         row("wave", result.wave_ns, limit) + plain("first wave", result.first_wave_ns) +
         plain("exposed a block p50", result.exposed_p50_ns) +
         plain("exposed a block p99", result.exposed_p99_ns) + "\n";
}

std::string resource_table(const PredictRequest& request, const PredictResult& result) {
  std::string text = fmt::format("{:<22} {:>14} {:>14} {:>14}\n", "resource", "busy a block",
                                 "share of wave", "wave spent");
  for (const auto resource : kResources) {
    text += fmt::format("{:<22} {:>11.3f} ms {:>12.1f} % {:>12.1f} %\n",
                        engine::resource_name(resource),
                        milliseconds(per_block(request, result.busy_ns.at(index(resource)))),
                        100.0 * result.busy_share(resource), 100.0 * result.spent_share(resource));
  }
  if (result.lost_ns > 0) {
    text += fmt::format("{:<22} {:>11.3f} ms {:>12.1f} %\n", "  of compute, lost",
                        milliseconds(per_block(request, result.lost_ns)),
                        100.0 * static_cast<double>(result.lost_ns) /
                            static_cast<double>(std::max<Nanoseconds>(result.window_ns, 1)));
  }
  return text +
         fmt::format(
             "bound: {}, busy for {:.1f} % of the wave (spent: compute runs, or is idle and waits "
             "for that; lost: to the copies and gathers beside it)\n\n",
             engine::resource_name(result.bound), 100.0 * result.busy_share(result.bound));
}

std::string figures_table(const PredictRequest& request, const PredictResult& result) {
  std::string text = "figures of the calibration\n";
  for (const auto& [name, figure] : figures_of(request, result)) {
    text += fmt::format("  {:<24} {:>10.4g}  {}{}\n", name, figure.value,
                        figure.evidence == Evidence::kExtrapolated ? "extrapolated: " : "",
                        figure.source);
  }
  return text +
         "not in the model: gathers that wait for the SMs of a running kernel, collectives of TP "
         "and SP, spread\n";
}

json request_json(const PredictRequest& request) {
  json blocks = json::array();
  for (const auto& block : request.blocks) {
    blocks.push_back({{"bytes", block.bytes}, {"compute_ns", block.compute_ns}});
  }
  return {{"ranks", request.ranks},
          {"group_size", group_of(request)},
          {"transfer", contracts::transfer_name(request.transfer)},
          {"blocks", blocks},
          {"other_compute_ns", request.other_compute_ns},
          {"prefetch_depth", request.prefetch_depth},
          {"chunk_bytes", request.chunk_bytes},
          {"input_slots", request.input_slots},
          {"forwards", request.forwards}};
}

}  // namespace

std::string prediction_text(const PredictRequest& request, const PredictResult& result) {
  return heading(request, result) + times_table(request, result) + resource_table(request, result) +
         figures_table(request, result);
}

json prediction_json(const PredictRequest& request, const PredictResult& result) {
  json resources = json::object();
  for (const auto resource : kResources) {
    resources[std::string(engine::resource_name(resource))] = {
        {"busy_ns", result.busy_ns.at(index(resource))},
        {"busy_share", result.busy_share(resource)},
        {"spent_ns", result.spent_ns.at(index(resource))},
        {"spent_share", result.spent_share(resource)}};
  }
  bool extrapolated = false;
  for (const auto& [name, figure] : figures_of(request, result)) {
    extrapolated = extrapolated || figure.evidence == Evidence::kExtrapolated;
  }
  return {{"request", request_json(request)},
          {"calibration", engine::calibration_to_json(request.calibration)},
          {"rests_on_extrapolated_figures", extrapolated},
          {"result",
           {{"wave_ns", result.wave_ns},
            {"first_wave_ns", result.first_wave_ns},
            {"block_p50_ns", result.block_p50_ns},
            {"block_p99_ns", result.block_p99_ns},
            {"exposed_p50_ns", result.exposed_p50_ns},
            {"exposed_p99_ns", result.exposed_p99_ns},
            {"exposed_ns", result.exposed_ns()},
            {"lost_ns", result.lost_ns},
            {"chunks_per_block", result.chunks_per_block},
            {"resources", resources},
            {"bound", engine::resource_name(result.bound)},
            {"share_of_bound", result.busy_share(result.bound)}}}};
}

}  // namespace dlo::harness
