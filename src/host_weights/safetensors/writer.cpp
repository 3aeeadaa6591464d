#include "host_weights/safetensors/writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unordered_set>
#include <utility>

#include "base/codes.h"
#include "base/json.h"
#include "host_weights/safetensors/quoted_name.h"
#include "host_weights/safetensors/utf8.h"

namespace dlo::host_weights {

namespace {

// The data starts at a multiple of this, as in files of the reference library.
constexpr std::uint64_t kDataAlignmentBytes = 8;

Refusal invalid_tensor(std::string what, std::string_view name) {
  return refuse(codes::kInvalidValue, std::move(what), "tensor " + quoted_name(name),
                "correct the list of tensors to write");
}

Result<std::uint64_t> whole_bytes(const PlannedTensor& tensor) {
  const auto elements = element_count(tensor.shape);
  const auto bytes = tensor_bytes(tensor.shape, tensor.dtype);
  if (!elements || !bytes) {
    return invalid_tensor("the size of shape " + shape_text(tensor.shape) + " does not fit 64 bits",
                          tensor.name);
  }
  if (*elements * dtype_bits(tensor.dtype) % 8 != 0) {
    return invalid_tensor("the last element ends inside a byte", tensor.name);
  }
  return *bytes;
}

// Places one tensor at the end of what is planned so far.
Status append(const PlannedTensor& tensor, WritePlan& plan) {
  if (tensor.name == kMetadataKey || first_invalid_utf8(tensor.name)) {
    return invalid_tensor("the name is reserved or not UTF-8", tensor.name);
  }
  const auto bytes = whole_bytes(tensor);
  if (!bytes) {
    return bytes.refusal();
  }
  const auto end = checked_add(plan.data_bytes, *bytes);
  if (!end) {
    return invalid_tensor("the file would be larger than 64 bits can count", tensor.name);
  }
  plan.tensors.push_back({tensor.name, tensor.dtype, tensor.shape, plan.data_bytes, *end});
  plan.data_bytes = *end;
  return {};
}

Status append_all(std::span<const PlannedTensor> tensors, WritePlan& plan) {
  std::unordered_set<std::string_view> names;
  for (const auto& tensor : tensors) {
    if (!names.insert(tensor.name).second) {
      return invalid_tensor("the name occurs twice", tensor.name);
    }
    if (auto status = append(tensor, plan); !status) {
      return status;
    }
  }
  return {};
}

std::string header_json(const std::vector<TensorRecord>& tensors, const FileMetadata& metadata) {
  std::string text = "{";
  const auto field = [&text](const std::string& name, const std::string& value) {
    text += (text.size() == 1 ? "" : ",") + nlohmann::json(name).dump() + ":" + value;
  };
  if (!metadata.empty()) {
    field(std::string(kMetadataKey), nlohmann::json(metadata).dump());
  }
  for (const auto& tensor : tensors) {
    field(tensor.name, fmt::format(R"({{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                   dtype_name(tensor.dtype), fmt::join(tensor.shape, ","),
                                   tensor.begin_bytes, tensor.end_bytes));
  }
  return text + "}";
}

std::string with_length_and_padding(std::string json) {
  json.resize(round_up(json.size(), kDataAlignmentBytes), ' ');
  std::string head;
  for (std::size_t i = 0; i < kHeaderLengthBytes; ++i) {
    head += static_cast<char>(json.size() >> (8 * i) & 0xFFU);
  }
  return head + json;
}

ConstByteSpan bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

Result<WritePlan> plan_file(std::span<const PlannedTensor> tensors, const FileMetadata& metadata) {
  for (const auto& [key, value] : metadata) {
    if (first_invalid_utf8(key) || first_invalid_utf8(value)) {
      return refuse(codes::kInvalidValue, "metadata is not UTF-8", quoted_name(key),
                    "write text only");
    }
  }
  WritePlan plan;
  if (const auto status = append_all(tensors, plan); !status) {
    return status.refusal();
  }
  plan.head = with_length_and_padding(header_json(plan.tensors, metadata));
  if (plan.head.size() - kHeaderLengthBytes > kHeaderLimitBytes ||
      !checked_add(plan.head.size(), plan.data_bytes)) {
    return refuse(codes::kInvalidValue,
                  fmt::format("the header needs {} bytes, the limit is {}", plan.head.size(),
                              kHeaderLimitBytes),
                  "safetensors header", "spread the tensors over several files");
  }
  return plan;
}

Result<SafetensorsWriter> SafetensorsWriter::create(platform::FileSystem& files,
                                                    const platform::Path& path, WritePlan plan) {
  auto temporary = platform::create_sibling(files, path);
  if (!temporary) {
    return temporary.refusal();
  }
  SafetensorsWriter writer(files, path, std::move(plan), std::move(*temporary));
  if (const auto status = writer.temporary_.file->write_at(0, bytes_of(writer.plan_.head));
      !status) {
    return status.refusal();
  }
  return writer;
}

SafetensorsWriter::SafetensorsWriter(platform::FileSystem& files, platform::Path path,
                                     WritePlan plan, platform::TemporaryFile temporary)
    : files_(&files),
      path_(std::move(path)),
      plan_(std::move(plan)),
      temporary_(std::move(temporary)) {}

SafetensorsWriter::SafetensorsWriter(SafetensorsWriter&& other) noexcept
    : files_(other.files_),
      path_(std::move(other.path_)),
      plan_(std::move(other.plan_)),
      temporary_(std::move(other.temporary_)),
      written_bytes_(other.written_bytes_.load()) {}

SafetensorsWriter::~SafetensorsWriter() {
  if (temporary_.file != nullptr) {
    temporary_.file.reset();
    // What cannot be removed is litter under a temporary name, never a half-written checkpoint.
    static_cast<void>(files_->remove_file(temporary_.path).ok());
  }
}

Status SafetensorsWriter::write(std::size_t index, std::uint64_t offset_bytes,
                                ConstByteSpan bytes) {
  const auto& record = plan_.tensors.at(index);
  require(offset_bytes <= record.size_bytes() && bytes.size() <= record.size_bytes() - offset_bytes,
          "SafetensorsWriter::write leaves its tensor");
  const auto at = plan_.head.size() + record.begin_bytes + offset_bytes;
  auto status = temporary_.file->write_at(at, bytes);
  if (status.ok()) {
    written_bytes_ += bytes.size();
  }
  return status;
}

Status SafetensorsWriter::publish() {
  if (auto status = temporary_.file->sync(); !status) {
    return status;
  }
  if (auto status = temporary_.file->close(); !status) {
    return status;
  }
  return files_->rename(temporary_.path, path_);
}

Status SafetensorsWriter::finish() {
  require(temporary_.file != nullptr, "SafetensorsWriter::finish was called before");
  require(written_bytes_.load() == plan_.data_bytes,
          "SafetensorsWriter::finish before every byte was written");
  if (auto status = publish(); !status) {
    return status;
  }
  temporary_.file.reset();
  return files_->sync_directory(path_.has_parent_path() ? path_.parent_path() : ".");
}

}  // namespace dlo::host_weights
