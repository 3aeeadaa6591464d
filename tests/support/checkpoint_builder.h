// Owns: small safetensors files for tests of the loader: tensors given as bytes, written by the
// product's own writer into any FileSystem.
// Must not own: files that a writer would refuse to make (tests write those bytes themselves).
// Failure: throws through Result::value(), which ends the test.
#pragma once

#include <string>
#include <vector>

#include "base/tensor_view.h"
#include "platform/file_system.h"

namespace dlo::test_support {

struct StoredTensor {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<std::byte> bytes;
};

// A tensor with values drawn from its name.
[[nodiscard]] StoredTensor drawn_tensor(std::string name, DType dtype, Shape shape);
// A tensor with the given values.
[[nodiscard]] StoredTensor f32_tensor(std::string name, Shape shape,
                                      const std::vector<float>& values);

// Writes one file; its folder is made.
void write_safetensors(platform::FileSystem& files, const platform::Path& path,
                       const std::vector<StoredTensor>& tensors);

}  // namespace dlo::test_support
