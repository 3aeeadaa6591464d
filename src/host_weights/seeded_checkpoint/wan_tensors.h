// Owns: the list of tensors of a WanTransformer3DModel as pure data: checkpoint key, shape, the
// distribution of seeded values, and which ones diffusers keeps in fp32.
// Must not own: values or files (seeded_checkpoint.h); the model builds its own modules and tests
// compare them with this list. Threading: pure functions. Source: models.md 4.1 and 7.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "base/tensor_view.h"
#include "host_weights/seeded_checkpoint/wan_shape.h"

namespace dlo::host_weights {

struct WanTensor {
  std::string name;  // checkpoint key, without component prefix
  Shape shape;
  // Seeded values are mean + scale * N(0, 1), so that 40 blocks stay finite in bf16.
  float mean = 0.0F;
  float scale = 0.0F;
  bool kept_in_fp32 = false;  // _keep_in_fp32_modules of the class
};

// All tensors in the class's registration order.
[[nodiscard]] std::vector<WanTensor> wan_tensors(const WanShape& shape);

// What a checkpoint is stored as; a property of the repository, not of the class.
enum class StoredDType : std::uint8_t {
  kF32,
  kBF16,
  kMixed,  // BF16 with the class's fp32 modules in F32
};

// "F32", "BF16", "mixed". Codes: invalid_value, with the nearest name.
[[nodiscard]] Result<StoredDType> parse_stored_dtype(std::string_view text);
[[nodiscard]] std::string_view stored_dtype_name(StoredDType stored);

[[nodiscard]] DType stored_tensor_dtype(const WanTensor& tensor, StoredDType stored);

}  // namespace dlo::host_weights
