#include "tests/support/checkpoint_builder.h"

#include <cstring>
#include <utility>

#include "base/value_generator.h"
#include "host_weights/safetensors/writer.h"

namespace dlo::test_support {

namespace {

void must(const Status& status) {
  require(status.ok(), status.ok() ? "" : status.refusal().message());
}

}  // namespace

StoredTensor drawn_tensor(std::string name, DType dtype, Shape shape) {
  StoredTensor tensor{std::move(name), dtype, std::move(shape), {}};
  tensor.bytes.resize(tensor_bytes(tensor.shape, dtype).value());
  const ValueGenerator values(tensor.name, 1);
  if (dtype == DType::kF32 || dtype == DType::kBF16) {
    values.fill_normal(tensor.bytes, dtype, 0, 0.0F, 1.0F);
    return tensor;
  }
  for (std::size_t i = 0; i < tensor.bytes.size(); ++i) {
    // Below 0x78 in every byte: a half in this range is finite.
    tensor.bytes[i] = static_cast<std::byte>(values.bits(i) % 0x78U);
  }
  return tensor;
}

StoredTensor f32_tensor(std::string name, Shape shape, const std::vector<float>& values) {
  StoredTensor tensor{std::move(name), DType::kF32, std::move(shape), {}};
  tensor.bytes.resize(values.size() * sizeof(float));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

void write_safetensors(platform::FileSystem& files, const platform::Path& path,
                       const std::vector<StoredTensor>& tensors) {
  std::vector<host_weights::PlannedTensor> planned;
  for (const auto& tensor : tensors) {
    planned.push_back({tensor.name, tensor.dtype, tensor.shape});
  }
  must(files.make_directories(path.parent_path()));
  auto writer = host_weights::SafetensorsWriter::create(
                    files, path, host_weights::plan_file(planned, {{"format", "pt"}}).value())
                    .value();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    must(writer.write(i, 0, tensors[i].bytes));
  }
  must(writer.finish());
}

}  // namespace dlo::test_support
