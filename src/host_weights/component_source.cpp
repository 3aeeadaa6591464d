#include "host_weights/component_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/codes.h"

namespace dlo::host_weights {

namespace {

using platform::FileSystem;
using platform::Path;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Takes the run of digits at the front of `text`, without leading zeros.
std::string_view take_number(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && is_digit(text[length])) {
    ++length;
  }
  std::string_view number = text.substr(0, length);
  text.remove_prefix(length);
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

// The paths to open one by one, or none when the folder is left to its index (or is a single
// file), which ComponentCheckpoint resolves.
Result<std::vector<Path>> separate_files(const FileSystem& files, const ComponentSource& source) {
  const Path folder = source.folder();
  const auto info = files.stat(folder);
  if (!info) {
    return info.refusal();
  }
  std::vector<Path> chosen;
  if (info->kind != platform::FileKind::kDirectory) {
    return chosen;
  }
  const auto names = files.list(folder);
  if (!names) {
    return names.refusal();
  }
  for (const auto& name : *names) {
    if (source.file_patterns.empty() && name.ends_with(kIndexSuffix)) {
      return std::vector<Path>();
    }
    const bool wanted =
        source.file_patterns.empty()
            ? name.ends_with(kWeightsSuffix)
            : std::any_of(source.file_patterns.begin(), source.file_patterns.end(),
                          [&name](const auto& pattern) { return matches_pattern(name, pattern); });
    if (wanted) {
      chosen.push_back(folder / name);
    }
  }
  if (chosen.empty() && !source.file_patterns.empty()) {
    return refuse(codes::kEmptyCheckpoint,
                  fmt::format("no file matches {}", fmt::join(source.file_patterns, ", ")),
                  folder.string(), "correct the file patterns of this source");
  }
  return chosen;
}

}  // namespace

Result<SourceTensors> SourceTensors::open(const FileSystem& files, const ComponentSource& source) {
  const auto separate = separate_files(files, source);
  if (!separate) {
    return separate.refusal();
  }
  const std::vector<Path> paths =
      separate->empty() ? std::vector<Path>{source.folder()} : *separate;
  SourceTensors opened;
  for (const auto& path : paths) {
    auto part = ComponentCheckpoint::open(files, path);
    if (!part) {
      return part.refusal();
    }
    opened.parts_.push_back(std::move(*part));
  }
  if (const auto status = opened.index_tensors(); !status) {
    return status.refusal();
  }
  return opened;
}

Status SourceTensors::index_tensors() {
  for (const auto& part : parts_) {
    for (const auto& file : part.files()) {
      paths_.push_back(file.path());
    }
  }
  std::sort(paths_.begin(), paths_.end(), [](const Path& a, const Path& b) {
    return natural_less(a.filename().string(), b.filename().string());
  });
  for (const auto& part : parts_) {
    std::vector<std::size_t> ranks;  // of the part's files
    for (const auto& file : part.files()) {
      const auto place = std::find(paths_.begin(), paths_.end(), file.path());
      ranks.push_back(static_cast<std::size_t>(std::distance(paths_.begin(), place)));
    }
    for (const auto& tensor : part.tensors()) {
      const SafetensorsFile& file = part.files()[tensor.file_index];
      const auto [entry, added] = tensors_.try_emplace(
          tensor.name, SourceTensor{&file, &part.record(tensor), ranks[tensor.file_index]});
      // One file that repeats a name was settled by its reader: the last entry counts.
      if (!added && entry->second.file != &file) {
        return refuse(codes::kDuplicateTensor,
                      fmt::format("tensor '{}' lies in {} and in {}", tensor.name,
                                  entry->second.file->path().filename().string(),
                                  file.path().filename().string()),
                      file.path().parent_path().string(),
                      "add the index that tells which file counts, or remove one");
      }
    }
  }
  return {};
}

const SourceTensor* SourceTensors::find(std::string_view key) const {
  const auto found = tensors_.find(key);
  return found == tensors_.end() ? nullptr : &found->second;
}

Status SourceTensors::check_intact() const {
  for (const auto& part : parts_) {
    if (auto status = part.check_intact(); !status) {
      return status;
    }
  }
  return {};
}

bool natural_less(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a;
  const std::string_view whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const auto number_a = take_number(a);
      const auto number_b = take_number(b);
      if (number_a.size() != number_b.size()) {
        return number_a.size() < number_b.size();
      }
      if (number_a != number_b) {
        return number_a < number_b;
      }
      continue;
    }
    if (a.front() != b.front()) {
      return a.front() < b.front();
    }
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.empty() != b.empty()) {
    return a.empty();
  }
  return whole_a < whole_b;  // names that differ in leading zeros only
}

bool matches_pattern(std::string_view name, std::string_view pattern) {
  std::size_t at = 0;
  std::size_t p = 0;
  std::size_t star = std::string_view::npos;
  std::size_t retry = 0;
  while (at < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = at;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[at])) {
      ++p;
      ++at;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      at = ++retry;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace dlo::host_weights
