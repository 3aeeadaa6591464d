#include "host_weights/ordinary_loader.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/error.h"
#include "host_weights/dtype_conversion.h"
#include "host_weights/load_plan.h"

namespace dlo::host_weights {

namespace {

using contracts::Box;
using contracts::BoxCopy;

// One box in another dtype than the tensor: gathered, converted and put in its place through
// scratch memory of the box's size.
Status copy_converted(const BoxCopy& copy, const TensorView& source, const LoadItem& item,
                      ByteSpan destination) {
  const Shape& extent = copy.source.extent;
  const Box whole{std::vector<std::int64_t>(extent.size(), 0), extent};
  const std::uint64_t count = element_count(extent).value();
  std::vector<std::byte> stored(tensor_bytes(extent, source.dtype).value());
  std::vector<std::byte> converted(tensor_bytes(extent, item.spec->dtype).value());
  if (auto status = contracts::execute_copy({copy.source_key, copy.source, whole}, source, extent,
                                            source.dtype, stored);
      !status) {
    return status;
  }
  convert_elements(stored, source.dtype, converted, item.spec->dtype, count);
  return contracts::execute_copy({copy.source_key, whole, copy.destination},
                                 {item.spec->dtype, extent, converted}, item.spec->shape,
                                 item.spec->dtype, destination);
}

Status load_item(const LoadItem& item, ByteSpan destination) {
  for (std::size_t i = 0; i < item.sources.size(); ++i) {
    const BoxCopy& copy = item.recipe.copies[i];
    const TensorView source = item.sources[i]->view();
    if (source.dtype == item.spec->dtype) {
      if (auto status = contracts::execute_copy(copy, source, item.spec->shape, item.spec->dtype,
                                                destination);
          !status) {
        return status;
      }
    } else if (item.identity) {
      convert_elements(source.bytes, source.dtype, destination, item.spec->dtype,
                       element_count(source.shape).value());
    } else if (auto status = copy_converted(copy, source, item, destination); !status) {
      return status;
    }
  }
  return {};
}

// Loads items in their order on several workers until none is left or one failed.
Status load_items(platform::Executor& executor, std::size_t thread_count,
                  const std::vector<LoadItem>& items, const std::vector<ByteSpan>& destinations) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::vector<Status> outcomes(std::clamp<std::size_t>(thread_count, 1, executor.worker_count()));
  executor.parallel_for(outcomes.size(), [&](std::size_t worker) {
    for (std::size_t i = next.fetch_add(1); i < items.size() && !failed.load();
         i = next.fetch_add(1)) {
      outcomes[worker] = load_item(items[i], destinations[i]);
      if (!outcomes[worker]) {
        failed.store(true);
        return;
      }
    }
  });
  for (auto& outcome : outcomes) {
    if (!outcome) {
      return outcome;
    }
  }
  return {};
}

Result<std::vector<SourceTensors>> open_sources(const platform::FileSystem& files,
                                                const LoadRequest& request) {
  std::vector<SourceTensors> opened;
  for (const auto& source : request.sources) {
    if (request.planned_source_prefixes.contains(source.prefix)) {
      opened.emplace_back();
      continue;
    }
    auto tensors = SourceTensors::open(files, source);
    if (!tensors) {
      return tensors.refusal();
    }
    opened.push_back(std::move(*tensors));
  }
  return opened;
}

LoadReport make_report(LoadPlan plan, std::uint64_t private_bytes) {
  LoadReport report;
  report.tensor_count = plan.items.size();
  report.private_bytes = private_bytes;
  for (const auto& item : plan.items) {
    bool converted = false;
    for (std::size_t i = 0; i < item.sources.size(); ++i) {
      const DType stored = item.sources[i]->record->dtype;
      converted = converted || stored != item.spec->dtype;
      report.file_bytes += tensor_bytes(item.recipe.copies[i].source.extent, stored).value();
    }
    report.converted_count += converted ? 1 : 0;
  }
  report.tolerated = std::move(plan.tolerated);
  report.unused = std::move(plan.unused);
  return report;
}

}  // namespace

Result<LoadedTensors> load_ordinary(const platform::FileSystem& files, platform::Device& device,
                                    platform::Executor& executor, const LoadRequest& request) {
  const auto opened = open_sources(files, request);
  if (!opened) {
    return opened.refusal();
  }
  auto plan = plan_load(request, *opened);
  if (!plan) {
    return plan.refusal();
  }
  LoadedTensors loaded{std::make_unique<PrivateTensors>(device), {}};
  std::vector<ByteSpan> destinations;
  for (const auto& item : plan->items) {
    auto memory = loaded.tensors->reserve(item.spec->name, item.spec->dtype, item.spec->shape);
    if (!memory) {
      return memory.refusal();
    }
    destinations.push_back(*memory);
  }
  if (const auto status = load_items(executor, request.thread_count, plan->items, destinations);
      !status) {
    return status.refusal();
  }
  for (const auto& source : *opened) {
    if (const auto status = source.check_intact(); !status) {
      return status.refusal();
    }
  }
  loaded.report = make_report(std::move(*plan), loaded.tensors->held_bytes());
  return loaded;
}

}  // namespace dlo::host_weights
