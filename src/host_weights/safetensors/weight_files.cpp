#include "host_weights/safetensors/weight_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/codes.h"

namespace dlo::host_weights {

namespace {

using platform::FileKind;
using platform::Path;
using Names = std::vector<std::string>;

constexpr std::string_view kIndexSuffix = ".safetensors.index.json";
constexpr std::string_view kFileSuffix = ".safetensors";
// What PyTorch's own serialisation calls its files.
constexpr std::array<std::string_view, 5> kPickleSuffixes = {".bin", ".pt", ".pth", ".ckpt",
                                                             ".bin.index.json"};

bool is_pickle(std::string_view name) {
  return std::any_of(kPickleSuffixes.begin(), kPickleSuffixes.end(),
                     [&](std::string_view suffix) { return name.ends_with(suffix); });
}

Refusal pickle_refusal(const Path& path, const std::string& found) {
  return refuse(codes::kUnsupportedFormat, "the weights are not safetensors but " + found,
                path.string(), "convert the checkpoint to safetensors");
}

// Hidden names are leftovers of tools ("._model.safetensors"), never weights.
Names names_where(const Names& all, bool (*wanted)(std::string_view)) {
  Names found;
  std::copy_if(all.begin(), all.end(), std::back_inserter(found),
               [&](const std::string& name) { return !name.starts_with('.') && wanted(name); });
  return found;
}

Refusal nothing_found(const Path& folder, const Names& all) {
  const auto pickles = names_where(all, is_pickle);
  if (!pickles.empty()) {
    return pickle_refusal(folder, fmt::format("{}", fmt::join(pickles, ", ")));
  }
  return refuse(codes::kEmptyCheckpoint,
                all.empty() ? "the folder is empty"
                            : "the folder has no .safetensors file and no index of such files",
                folder.string(), "name a component's folder, such as CHECKPOINT/transformer");
}

Result<WeightFiles> in_folder(const platform::FileSystem& files, const Path& folder) {
  const auto all = files.list(folder);
  if (!all) {
    return all.refusal();
  }
  const auto indices =
      names_where(*all, [](std::string_view name) { return name.ends_with(kIndexSuffix); });
  auto weights =
      names_where(*all, [](std::string_view name) { return name.ends_with(kFileSuffix); });
  if (indices.size() > 1) {
    return refuse(codes::kAmbiguousIndex,
                  fmt::format("{} index files: {}", indices.size(), fmt::join(indices, ", ")),
                  folder.string(), "leave one of them in the folder, or name one as the path");
  }
  if (indices.size() == 1) {
    return WeightFiles{folder / indices.front(), true, std::move(weights)};
  }
  if (weights.empty()) {
    return nothing_found(folder, *all);
  }
  if (weights.size() > 1) {
    return refuse(codes::kAmbiguousIndex,
                  fmt::format("{} safetensors files and no index: {}", weights.size(),
                              fmt::join(weights, ", ")),
                  folder.string(), "add the index file, or name one file as the path");
  }
  return WeightFiles{folder / weights.front(), false, {}};
}

}  // namespace

Result<WeightFiles> find_weight_files(const platform::FileSystem& files, const Path& path) {
  const auto info = files.stat(path);
  if (!info) {
    return info.refusal();
  }
  if (info->kind == FileKind::kDirectory) {
    return in_folder(files, path);
  }
  const auto name = path.filename().string();
  if (is_pickle(name)) {
    return pickle_refusal(path, name);
  }
  return WeightFiles{path, name.ends_with(kIndexSuffix), {}};
}

}  // namespace dlo::host_weights
