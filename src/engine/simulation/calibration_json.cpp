#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/codes.h"
#include "base/nearest_name.h"
#include "engine/simulation/calibration.h"

namespace dlo::engine {

namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 6> kTopKeys = {"name",   "source",  "h2d",
                                                      "gather", "compute", "host"};
constexpr std::array<std::string_view, 2> kLinkKeys = {"latency_ns", "bytes_per_s"};
constexpr std::array<std::string_view, 3> kComputeKeys = {"flops_per_s", "lost_beside_copy",
                                                          "lost_beside_gather"};
constexpr std::array<std::string_view, 4> kHostKeys = {"event_ns", "copy_ns", "gather_ns",
                                                       "block_ns"};
constexpr std::array<std::string_view, 3> kFigureKeys = {"value", "source", "extrapolated"};
// More ranks than a node has, and than a file means.
constexpr std::uint32_t kRankCountMax = 1024;

enum class Zero : std::uint8_t { kAllowed, kRefused };

// Reads one document; the first refusal stays, later reads then give nothing.
class Reader {
 public:
  explicit Reader(std::string where) : where_(std::move(where)) {}

  [[nodiscard]] const Status& status() const { return status_; }

  void refuse_value(const std::string& what) {
    note(refuse(codes::kInvalidValue, what, where_, "see dlo predict --help"));
  }

  // True when `object` is an object of known keys.
  bool check_keys(const json& object, std::span<const std::string_view> known,
                  const std::string& path) {
    if (!object.is_object()) {
      refuse_value(fmt::format("'{}' must be a JSON object", path));
      return false;
    }
    for (const auto& [key, value] : object.items()) {
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        note(refuse(codes::kUnknownOption, fmt::format("unknown key '{}' in '{}'", key, path),
                    where_, suggest_name(key, known)));
        return false;
      }
    }
    return true;
  }

  std::string text(const json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_string() ||
        found->get_ref<const std::string&>().empty()) {
      refuse_value(fmt::format("'{}' must be a text", key));
      return {};
    }
    return *found;
  }

  Figure figure(const json& object, const char* key, const std::string& path, Zero zero) {
    const auto found = object.find(key);
    if (found == object.end()) {
      refuse_value(fmt::format("'{}.{}' is missing", path, key));
      return {};
    }
    return figure(*found, fmt::format("{}.{}", path, key), zero);
  }

  Figure figure(const json& value, const std::string& path, Zero zero) {
    if (value.is_number()) {
      return checked({value, source_, Evidence::kMeasured}, path, zero);
    }
    if (!check_keys(value, kFigureKeys, path)) {
      return {};
    }
    const auto number = value.find("value");
    const auto guessed = value.find("extrapolated");
    if (number == value.end() || !number->is_number() ||
        (guessed != value.end() && !guessed->is_boolean())) {
      refuse_value(fmt::format("'{}' needs a number 'value' and a boolean 'extrapolated'", path));
      return {};
    }
    const bool extrapolated = guessed != value.end() && guessed->get<bool>();
    return checked({*number, value.contains("source") ? text(value, "source") : source_,
                    extrapolated ? Evidence::kExtrapolated : Evidence::kMeasured},
                   path, zero);
  }

  LinkCalibration link(const json& top, const char* key) {
    LinkCalibration link;
    const json object = member(top, key);
    if (!check_keys(object, kLinkKeys, key)) {
      return link;
    }
    link.latency_ns = figure(object, "latency_ns", key, Zero::kAllowed);
    const json rates = member(object, "bytes_per_s");
    if (!rates.is_object() || rates.empty()) {
      refuse_value(fmt::format("'{}.bytes_per_s' must map numbers of ranks to rates", key));
      return link;
    }
    for (const auto& [ranks, rate] : rates.items()) {
      const auto path = fmt::format("{}.bytes_per_s.{}", key, ranks);
      link.bytes_per_s[rank_count(ranks, path)] = figure(rate, path, Zero::kRefused);
    }
    return link;
  }

  ComputeCalibration compute(const json& top) {
    ComputeCalibration compute;
    const json object = member(top, "compute");
    if (!check_keys(object, kComputeKeys, "compute")) {
      return compute;
    }
    if (object.contains("flops_per_s")) {
      compute.flops_per_s = figure(object, "flops_per_s", "compute", Zero::kRefused);
    }
    compute.lost_beside_copy = figure(object, "lost_beside_copy", "compute", Zero::kAllowed);
    compute.lost_beside_gather = figure(object, "lost_beside_gather", "compute", Zero::kAllowed);
    if (compute.lost_beside_copy.value + compute.lost_beside_gather.value >= 1.0) {
      refuse_value("'compute.lost_beside_copy' and 'lost_beside_gather' must sum to below 1");
    }
    return compute;
  }

  HostCalibration host(const json& top) {
    HostCalibration host;
    const json object = member(top, "host");
    if (check_keys(object, kHostKeys, "host")) {
      host.event_ns = figure(object, "event_ns", "host", Zero::kAllowed);
      host.copy_ns = figure(object, "copy_ns", "host", Zero::kAllowed);
      host.gather_ns = figure(object, "gather_ns", "host", Zero::kAllowed);
      host.block_ns = figure(object, "block_ns", "host", Zero::kAllowed);
    }
    return host;
  }

  // The source of figures that name none.
  void set_source(std::string source) { source_ = std::move(source); }

 private:
  void note(Refusal refusal) {
    if (status_.ok()) {
      status_ = std::move(refusal);
    }
  }

  static json member(const json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() ? json() : *found;
  }

  Figure checked(Figure figure, const std::string& path, Zero zero) {
    const bool fits = std::isfinite(figure.value) &&
                      (figure.value > 0.0 || (figure.value == 0.0 && zero == Zero::kAllowed));
    if (!fits) {
      refuse_value(fmt::format("'{}' is {}: it must be {}", path, figure.value,
                               zero == Zero::kAllowed ? "at least 0" : "above 0"));
    }
    return figure;
  }

  std::uint32_t rank_count(const std::string& text, const std::string& path) {
    std::uint32_t count = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, count);
    if (error != std::errc{} || stop != end || count == 0 || count > kRankCountMax) {
      refuse_value(fmt::format("'{}': '{}' is no number of ranks", path, text));
    }
    return count;
  }

  std::string where_;
  std::string source_;
  Status status_;
};

json figure_json(const Figure& figure) {
  json object = {{"value", figure.value}, {"source", figure.source}};
  if (figure.evidence == Evidence::kExtrapolated) {
    object["extrapolated"] = true;
  }
  return object;
}

json link_json(const LinkCalibration& link) {
  json rates = json::object();
  for (const auto& [ranks, figure] : link.bytes_per_s) {
    rates[std::to_string(ranks)] = figure_json(figure);
  }
  return {{"latency_ns", figure_json(link.latency_ns)}, {"bytes_per_s", rates}};
}

}  // namespace

json calibration_to_json(const Calibration& calibration) {
  json compute = {
      {"lost_beside_copy", figure_json(calibration.compute.lost_beside_copy)},
      {"lost_beside_gather", figure_json(calibration.compute.lost_beside_gather)},
  };
  if (calibration.compute.flops_per_s) {
    compute["flops_per_s"] = figure_json(*calibration.compute.flops_per_s);
  }
  const auto& host = calibration.host;
  return {{"name", calibration.name},
          {"source", calibration.source},
          {"h2d", link_json(calibration.h2d)},
          {"gather", link_json(calibration.gather)},
          {"compute", compute},
          {"host",
           {{"event_ns", figure_json(host.event_ns)},
            {"copy_ns", figure_json(host.copy_ns)},
            {"gather_ns", figure_json(host.gather_ns)},
            {"block_ns", figure_json(host.block_ns)}}}};
}

Result<Calibration> calibration_from_json(const json& document, const std::string& where) {
  Reader reader(where);
  Calibration calibration;
  if (reader.check_keys(document, kTopKeys, "calibration")) {
    calibration.name = reader.text(document, "name");
    calibration.source = reader.text(document, "source");
    reader.set_source(calibration.source);
    calibration.h2d = reader.link(document, "h2d");
    calibration.gather = reader.link(document, "gather");
    calibration.compute = reader.compute(document);
    calibration.host = reader.host(document);
  }
  if (!reader.status().ok()) {
    return reader.status().refusal();
  }
  return calibration;
}

}  // namespace dlo::engine
