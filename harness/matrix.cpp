#include "harness/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "base/bytes.h"
#include "base/codes.h"
#include "harness/scenario_paths.h"

namespace dlo::harness {
namespace {

// Options that mean nothing to a resident run.
constexpr std::array<std::string_view, 9> kStreamingOptions{
    "dlo_chunk_bytes",   "dlo_prefetch_depth",      "dlo_input_slots",
    "pin_cpu_memory",    "dlo_checkpoint_mmap",     "dlo_pack_threads",
    "dlo_staging_bytes", "dlo_staging_chunk_bytes", "backing"};

struct Axis {
  std::string name;
  Json::json_pointer pointer;
  Json values;
};

Result<std::vector<Axis>> read_axes(const Json& document, const std::string& where) {
  std::vector<Axis> axes;
  std::uint64_t count = 1;
  for (const auto& [name, values] : document.at("matrix").items()) {
    Result<Json::json_pointer> pointer = scenario_pointer(name);
    if (!pointer) {
      Refusal refusal = pointer.refusal();
      refusal.what = "matrix: " + refusal.what;
      refusal.where = where;
      return refusal;
    }
    count = checked_multiply(count, values.size()).value_or(kMatrixInstancesMax + 1);
    if (count > kMatrixInstancesMax) {
      return refuse(codes::kInvalidValue,
                    fmt::format("the matrix has more than {} instances", kMatrixInstancesMax),
                    where, "split the file or shorten the lists");
    }
    axes.push_back({name, *pointer, values});
  }
  return axes;
}

// "dp2", "all_gather", "checkpoint_mmap", "chunk4096", "whole", "depth2", "blocks5", "steps=3".
std::string axis_token(const std::string& axis, const Json& value) {
  std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (axis == "transfer" || axis == "backing" || axis == "dtype" || axis == "preset") {
    return text;
  }
  if (axis == "chunk_bytes") {
    return value == 0 ? "whole" : "chunk" + text;
  }
  if (axis == "prefetch_depth") {
    return "depth" + text;
  }
  const std::size_t dot = axis.rfind('.');
  return dot == std::string::npos ? axis + text : axis.substr(dot + 1) + "=" + text;
}

bool concerns(const Axis& axis, const Json& instance) {
  return instance.value("transfer", "") != "resident" ||
         std::find(kStreamingOptions.begin(), kStreamingOptions.end(), axis.pointer.back()) ==
             kStreamingOptions.end();
}

// So that `when` conditions see sizes that were left out.
void fill_topology(Json& instance) {
  Json topology{{"dp", 1}, {"sp", 1}, {"tp", 1}, {"hsdp", 1}};
  if (instance.contains("topology")) {
    topology.update(instance.at("topology"));
  }
  instance["topology"] = topology;
}

// The instance at `index` in the order of the axes, the last one varying fastest.
MatrixInstance make_instance(const Json& document, const std::vector<Axis>& axes,
                             std::size_t index) {
  Json instance = document;
  instance.erase("matrix");
  std::vector<std::size_t> chosen(axes.size());
  for (std::size_t i = axes.size(); i-- > 0;) {
    chosen[i] = index % axes[i].values.size();
    index /= axes[i].values.size();
    instance[axes[i].pointer] = axes[i].values.at(chosen[i]);
  }
  fill_topology(instance);
  std::string name = instance.at("name").get<std::string>();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (concerns(axes[i], instance)) {
      name += "/" + axis_token(axes[i].name, axes[i].values.at(chosen[i]));
    } else {
      instance.at(axes[i].pointer.parent_pointer()).erase(axes[i].pointer.back());
    }
  }
  return {std::move(name), std::move(instance)};
}

}  // namespace

Result<std::vector<MatrixInstance>> expand_matrix(const Json& document, const std::string& where) {
  std::vector<Axis> axes;
  if (document.contains("matrix")) {
    Result<std::vector<Axis>> read = read_axes(document, where);
    if (!read) {
      return read.refusal();
    }
    axes = *std::move(read);
  }
  std::size_t count = 1;
  for (const Axis& axis : axes) {
    count *= axis.values.size();
  }
  std::vector<MatrixInstance> instances;
  std::set<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    MatrixInstance instance = make_instance(document, axes, i);
    if (names.insert(instance.name).second) {
      instances.push_back(std::move(instance));
    }
  }
  return instances;
}

}  // namespace dlo::harness
