#include "host_weights/load_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "base/codes.h"
#include "host_weights/dtype_conversion.h"
#include "host_weights/load_coverage.h"

namespace dlo::host_weights {

namespace {

using contracts::BoxCopy;
using contracts::TensorSpec;

// The source with the longest prefix that `name` begins with.
std::optional<std::size_t> source_of(const LoadRequest& request, const std::string& name) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < request.sources.size(); ++i) {
    const auto& prefix = request.sources[i].prefix;
    if (name.starts_with(prefix) &&
        (!best || prefix.size() > request.sources[*best].prefix.size())) {
      best = i;
    }
  }
  return best;
}

// The item for one tensor; empty when a checkpoint key that it needs is not there.
std::optional<LoadItem> find_item(const LoadRequest& request,
                                  const std::vector<SourceTensors>& opened,
                                  const TensorSpec& spec) {
  const auto source = source_of(request, spec.name);
  if (!source) {
    return std::nullopt;
  }
  LoadItem item;
  item.spec = &spec;
  item.source_index = *source;
  const auto custom = request.recipes.find(spec.name);
  item.identity = custom == request.recipes.end();
  item.recipe = item.identity
                    ? contracts::CopyRecipe::identity(
                          spec.name.substr(request.sources[*source].prefix.size()), spec.shape)
                    : custom->second;
  for (const auto& copy : item.recipe.copies) {
    const auto* tensor = opened[*source].find(copy.source_key);
    if (tensor == nullptr) {
      return std::nullopt;
    }
    item.sources.push_back(tensor);
  }
  return item;
}

Refusal shape_refusal(const LoadItem& item, const BoxCopy& copy, const SourceTensor& source) {
  return refuse(codes::kShapeMismatch,
                fmt::format("'{}' is {} in the checkpoint where '{}' needs {} of it",
                            copy.source_key, shape_text(source.record->shape), item.spec->name,
                            shape_text(copy.source.extent)),
                source.file->path().string(), "use a checkpoint of this model's configuration");
}

Status check_shapes(const LoadItem& item) {
  if (auto status = contracts::check_recipe(item.recipe, item.spec->shape); !status) {
    Refusal refusal = status.refusal();
    refusal.where = fmt::format("recipe of '{}'", item.spec->name);
    return refusal;
  }
  for (std::size_t i = 0; i < item.sources.size(); ++i) {
    const auto& copy = item.recipe.copies[i];
    const Shape& stored = item.sources[i]->record->shape;
    const bool fits =
        item.identity ? stored == item.spec->shape : contracts::box_fits(copy.source, stored);
    if (!fits) {
      return shape_refusal(item, copy, *item.sources[i]);
    }
  }
  return {};
}

Status check_dtypes(const LoadItem& item) {
  for (std::size_t i = 0; i < item.sources.size(); ++i) {
    const DType stored = item.sources[i]->record->dtype;
    if (!can_convert(stored, item.spec->dtype) || dtype_bits(item.spec->dtype) % 8 != 0) {
      return refuse(codes::kDtypeMismatch,
                    fmt::format("'{}' is {} in the checkpoint, '{}' runs in {}, and there is no "
                                "conversion between them",
                                item.recipe.copies[i].source_key, dtype_name(stored),
                                item.spec->name, dtype_name(item.spec->dtype)),
                    item.sources[i]->file->path().string(),
                    "use a checkpoint of the runtime dtype");
    }
  }
  return {};
}

template <typename Check>
Status check_all(const std::vector<LoadItem>& items, const Check& check) {
  for (const auto& item : items) {
    if (auto status = check(item); !status) {
      return status;
    }
  }
  return {};
}

Result<std::vector<std::string>> check_expected(const LoadRequest& request,
                                                const std::vector<LoadItem>& items) {
  CoverageRequest coverage;
  for (const auto* spec : request.tensors) {
    coverage.parameters.push_back(spec->name);
  }
  for (const auto& source : request.sources) {
    coverage.source_prefixes.push_back(source.prefix);
  }
  coverage.reported.emplace();
  for (const auto& item : items) {
    coverage.reported->insert(item.spec->name);
  }
  coverage.planned = request.planned;
  auto report = check_coverage(coverage);
  if (report) {
    return std::move(report->tolerated);
  }
  Refusal refusal = report.refusal();
  if (!request.sources.empty()) {
    refusal.where = request.sources.front().folder().string();
    if (request.sources.size() > 1) {
      refusal.where += fmt::format(" and {} more sources", request.sources.size() - 1);
    }
  }
  return refusal;
}

std::vector<std::string> unused_names(const LoadRequest& request,
                                      const std::vector<SourceTensors>& opened,
                                      const std::vector<LoadItem>& items) {
  std::set<const SourceTensor*> used;
  for (const auto& item : items) {
    used.insert(item.sources.begin(), item.sources.end());
  }
  std::vector<std::string> unused;
  for (std::size_t i = 0; i < opened.size(); ++i) {
    for (const auto& [key, tensor] : opened[i].tensors()) {
      const std::string name = request.sources[i].prefix + key;
      if (!used.contains(&tensor) && !request.planned.contains(name)) {
        unused.push_back(name);
      }
    }
  }
  std::sort(unused.begin(), unused.end());
  return unused;
}

// Files are read front to back, as a disk likes it.
auto reading_order(const LoadItem& item) {
  const auto* first = item.sources.empty() ? nullptr : item.sources.front();
  return first == nullptr
             ? std::tuple<std::size_t, std::size_t, std::uint64_t>(item.source_index, 0, 0)
             : std::tuple<std::size_t, std::size_t, std::uint64_t>(
                   item.source_index, first->file_rank, first->record->begin_bytes);
}

}  // namespace

Result<LoadPlan> plan_load(const LoadRequest& request, const std::vector<SourceTensors>& opened) {
  LoadPlan plan;
  for (const auto* spec : request.tensors) {
    if (request.planned.contains(spec->name)) {
      continue;
    }
    if (auto item = find_item(request, opened, *spec)) {
      plan.items.push_back(std::move(*item));
    }
  }
  auto tolerated = check_expected(request, plan.items);
  if (!tolerated) {
    return tolerated.refusal();
  }
  plan.tolerated = std::move(*tolerated);
  if (const auto status = check_all(plan.items, check_shapes); !status) {
    return status.refusal();
  }
  if (const auto status = check_all(plan.items, check_dtypes); !status) {
    return status.refusal();
  }
  plan.unused = unused_names(request, opened, plan.items);
  std::stable_sort(plan.items.begin(), plan.items.end(), [](const auto& a, const auto& b) {
    return reading_order(a) < reading_order(b);
  });
  return plan;
}

}  // namespace dlo::host_weights
