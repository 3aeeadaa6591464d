#include "host_weights/mapped_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/codes.h"
#include "base/error.h"

namespace dlo::host_weights {

namespace {

using contracts::CopyRun;
using contracts::TensorBinding;

constexpr const char* kRestore = "restore the checkpoint that was there when the run started";

Refusal no_longer(std::string_view code, const std::string& what, const TensorBinding& binding) {
  return refuse(code, fmt::format("'{}' {} since the plan was made", binding.source_key(), what),
                binding.file_path.string(), kRestore);
}

// The runs of a recipe in order of destination, those that touch on both sides made one.
std::vector<CopyRun> merged_runs(const TensorBinding& binding) {
  std::vector<CopyRun> runs;
  const std::uint64_t element_bytes = dtype_bits(binding.dtype) / 8;
  for (const auto& copy : binding.recipe.copies) {
    const auto more = contracts::copy_runs(copy, binding.shape, binding.shape, element_bytes);
    runs.insert(runs.end(), more.begin(), more.end());
  }
  std::sort(runs.begin(), runs.end(), [](const CopyRun& a, const CopyRun& b) {
    return a.destination_bytes < b.destination_bytes;
  });
  std::vector<CopyRun> merged;
  for (const auto& run : runs) {
    if (!merged.empty() &&
        merged.back().source_bytes + merged.back().length_bytes == run.source_bytes) {
      merged.back().length_bytes += run.length_bytes;
    } else {
      merged.push_back(run);
    }
  }
  return merged;
}

}  // namespace

Result<std::unique_ptr<MappedTensors>> MappedTensors::open(const platform::FileSystem& files,
                                                           const contracts::HostWeightPlan& plan,
                                                           platform::Device& device) {
  std::unique_ptr<MappedTensors> opened(new MappedTensors(device, plan.backing()));
  for (const auto& [name, binding] : plan.bindings()) {
    if (const auto status = opened->add(files, name, binding); !status) {
      return status.refusal();
    }
  }
  return opened;
}

Status MappedTensors::add(const platform::FileSystem& files, const std::string& name,
                          const TensorBinding& binding) {
  const auto index = file_of(files, binding.file_path);
  if (!index) {
    return index.refusal();
  }
  OpenFile& open_file = files_[*index];
  const auto* record = open_file.file->find(binding.source_key());
  if (record == nullptr) {
    return no_longer(codes::kMissingTensor, "went missing", binding);
  }
  if (record->shape != binding.shape) {
    return no_longer(codes::kShapeMismatch, "changed its shape", binding);
  }
  if (record->dtype != binding.dtype) {
    return no_longer(codes::kDtypeMismatch, "changed its dtype", binding);
  }
  Tensor tensor{*index, open_file.file->view(*record), {}};
  const bool whole =
      binding.recipe == contracts::CopyRecipe::identity(binding.source_key(), binding.shape);
  if (!whole) {
    require(dtype_bits(binding.dtype) % 8 == 0, "a recipe cannot split bytes of '" + name + "'");
    tensor.runs = merged_runs(binding);
  }
  tensors_.emplace(name, std::move(tensor));
  ++open_file.tensor_count;
  return {};
}

Result<std::size_t> MappedTensors::file_of(const platform::FileSystem& files,
                                           const platform::Path& path) {
  if (const auto found = file_index_.find(path); found != file_index_.end()) {
    return found->second;
  }
  auto file = SafetensorsFile::open(files, path);
  if (!file) {
    return file.refusal();
  }
  if (!file->header().repeated_names.empty()) {
    return refuse(
        codes::kDuplicateTensor,
        fmt::format("the file lists '{}' more than once", file->header().repeated_names.front()),
        path.string(), kRestore);
  }
  files_.push_back({std::make_unique<SafetensorsFile>(std::move(file).value()), 0});
  file_index_.emplace(path, files_.size() - 1);
  return files_.size() - 1;
}

const MappedTensors::Tensor& MappedTensors::mapped(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {  // the text is made only here
    throw LogicError("MappedTensors: '" + name + "' was never planned or was released");
  }
  return found->second;
}

void MappedTensors::gather(const Tensor& tensor, ByteSpan destination) {
  if (tensor.runs.empty() && !destination.empty()) {
    std::memcpy(destination.data(), tensor.stored.bytes.data(), tensor.stored.bytes.size());
  }
  for (const auto& run : tensor.runs) {
    std::memcpy(destination.data() + run.destination_bytes,
                tensor.stored.bytes.data() + run.source_bytes, run.length_bytes);
  }
}

TensorView MappedTensors::view(const std::string& name) const {
  if (overlays_.holds(name)) {
    return overlays_.view(name);
  }
  const Tensor& tensor = mapped(name);
  if (tensor.runs.empty()) {
    return tensor.stored;
  }
  if (!views_.holds(name)) {
    const auto memory = views_.reserve(name, tensor.stored.dtype, tensor.stored.shape);
    if (!memory) {
      throw RunError(memory.refusal());
    }
    gather(tensor, *memory);
  }
  return views_.view(name);
}

void MappedTensors::for_each_run(const std::string& name, const contracts::RunSink& sink) const {
  if (overlays_.holds(name)) {
    sink(0, overlays_.view(name).bytes);
    return;
  }
  const Tensor& tensor = mapped(name);
  if (tensor.runs.empty()) {
    sink(0, tensor.stored.bytes);
    return;
  }
  for (const auto& run : tensor.runs) {
    sink(run.destination_bytes, tensor.stored.bytes.subspan(run.source_bytes, run.length_bytes));
  }
}

bool MappedTensors::was_truncated(const OpenFile& open) {
  return open.file != nullptr && open.file->mapping().truncated();
}

bool MappedTensors::intact() const noexcept {
  const std::lock_guard lock(mutex_);
  return truncated_file_.empty() && std::none_of(files_.begin(), files_.end(), was_truncated);
}

std::string MappedTensors::truncated_file() const {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(files_.begin(), files_.end(), was_truncated);
  return found == files_.end() ? truncated_file_ : found->file->path().string();
}

void MappedTensors::let_go(const std::string& name) {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    return;
  }
  const std::lock_guard lock(mutex_);
  OpenFile& open_file = files_[found->second.file_index];
  if (--open_file.tensor_count == 0) {
    if (was_truncated(open_file)) {
      truncated_file_ = open_file.file->path().string();
    }
    open_file.file.reset();
  }
  tensors_.erase(found);
}

void MappedTensors::release(const std::string& name) {
  overlays_.release(name);
  views_.release(name);
  let_go(name);
}

std::uint64_t MappedTensors::held_bytes() const {
  return overlays_.held_bytes() + views_.held_bytes();
}

bool MappedTensors::holds(const std::string& name) const {
  return overlays_.holds(name) || tensors_.contains(name);
}

Result<ByteSpan> MappedTensors::edit(const std::string& name) {
  if (!overlays_.holds(name)) {
    const Tensor& tensor = mapped(name);
    const auto memory = overlays_.reserve(name, tensor.stored.dtype, tensor.stored.shape);
    if (!memory) {
      return memory.refusal();
    }
    gather(tensor, *memory);
    if (const auto status = contracts::check_intact(*this, "tensor '" + name + "'"); !status) {
      overlays_.release(name);
      return status.refusal();
    }
    views_.release(name);
    let_go(name);
  }
  return overlays_.edit(name);
}

Status MappedTensors::recast(const std::string& name, DType dtype) {
  if (const auto memory = edit(name); !memory) {
    return memory.refusal();
  }
  return overlays_.recast(name, dtype);
}

std::map<platform::Path, platform::FileInfo> MappedTensors::mapped_files() const {
  const std::lock_guard lock(mutex_);
  std::map<platform::Path, platform::FileInfo> mapped;
  for (const auto& open : files_) {
    if (open.file != nullptr) {
      mapped.emplace(open.file->path(), open.file->mapping().info());
    }
  }
  return mapped;
}

}  // namespace dlo::host_weights
