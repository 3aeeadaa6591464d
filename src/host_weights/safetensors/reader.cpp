#include "host_weights/safetensors/reader.h"

#include <algorithm>
#include <numeric>

#include "base/codes.h"
#include "host_weights/safetensors/quoted_name.h"

namespace dlo::host_weights {

namespace {

Status intact(const platform::MappedFile& mapping) {
  if (!mapping.truncated()) {
    return {};
  }
  return refuse(codes::kMappingTruncated, "the file became shorter while it was being read",
                mapping.path().string(), "do not write to a checkpoint in use; restore it");
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::open(const platform::FileSystem& files,
                                              const platform::Path& path) {
  auto mapping = files.map_read_only(path);
  if (!mapping) {
    return mapping.refusal();
  }
  auto header = parse_header((*mapping)->bytes(), path.string());
  if (const auto status = intact(**mapping); !status) {
    return status.refusal();
  }
  if (!header) {
    return header.refusal();
  }
  return SafetensorsFile(std::move(*mapping), std::move(*header));
}

SafetensorsFile::SafetensorsFile(std::unique_ptr<platform::MappedFile> mapping, Header header)
    : path_(mapping->path()),
      mapping_(std::move(mapping)),
      header_(std::move(header)),
      by_name_(header_.tensors.size()) {
  std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
  std::sort(by_name_.begin(), by_name_.end(), [this](std::size_t a, std::size_t b) {
    return header_.tensors[a].name < header_.tensors[b].name;
  });
}

const TensorRecord* SafetensorsFile::find(std::string_view name) const {
  const auto found = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                      [this](std::size_t index, std::string_view key) {
                                        return header_.tensors[index].name < key;
                                      });
  if (found == by_name_.end() || header_.tensors[*found].name != name) {
    return nullptr;
  }
  return &header_.tensors[*found];
}

Result<TensorView> SafetensorsFile::view(std::string_view name) const {
  const auto* record = find(name);
  if (record == nullptr) {
    return refuse(codes::kMissingTensor, "no tensor " + quoted_name(name) + " in the file",
                  path_.string(), "use a checkpoint of this model");
  }
  return view(*record);
}

TensorView SafetensorsFile::view(const TensorRecord& record) const {
  const auto data = mapping_->bytes().subspan(header_.data_start_bytes);
  return TensorView{record.dtype, record.shape,
                    data.subspan(record.begin_bytes, record.size_bytes())};
}

Status SafetensorsFile::check_intact() const {
  return intact(*mapping_);
}

}  // namespace dlo::host_weights
