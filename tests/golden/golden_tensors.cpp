#include "tests/golden/golden_tensors.h"

#include <cstring>

#include "base/codes.h"
#include "host_weights/safetensors/reader.h"

namespace dlo::golden {

Result<GoldenTensors> read_golden_tensors(const platform::FileSystem& files,
                                          const platform::Path& path) {
  const auto file = host_weights::SafetensorsFile::open(files, path);
  if (!file.ok()) {
    return file.refusal();
  }
  GoldenTensors tensors;
  for (const auto& record : file->header().tensors) {
    const TensorView view = file->view(record);
    if (view.dtype != DType::kF32) {
      return refuse(codes::kDtypeMismatch, "'" + record.name + "' is not F32", path.string(),
                    "store inputs and expected tensors as F32");
    }
    GoldenTensor tensor{view.shape, std::vector<float>(view.bytes.size() / sizeof(float))};
    if (!view.bytes.empty()) {
      std::memcpy(tensor.values.data(), view.bytes.data(), view.bytes.size());
    }
    tensors.emplace(record.name, std::move(tensor));
  }
  if (const Status intact = file->check_intact(); !intact.ok()) {
    return intact.refusal();
  }
  return tensors;
}

nlohmann::json read_json(const platform::FileSystem& files, const platform::Path& path) {
  return nlohmann::json::parse(files.read_text(path, kMiB).value());
}

platform::Path fixtures() {
  return DLO_GOLDEN_FIXTURES;
}

}  // namespace dlo::golden
