// Owns: SeededTensor, one tensor of a checkpoint that is made from a seed: key, shape, distribution
// of values, stored dtype; and TensorList, which writes the usual kinds of modules.
// Must not own: which tensors a family has (wan_tensors.h, flux_checkpoint.h, h3_checkpoint.h),
// values or files (seeded_checkpoint.h). Threading: pure values. Source: models.md 7.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "base/tensor_view.h"

namespace dlo::host_weights {

enum class SeededValues : std::uint8_t {
  kNormal,              // mean + scale * N(0, 1)
  kInverseFrequencies,  // 10000^(-i / n), whatever the seed: a stored rotary table
};

struct SeededTensor {
  std::string name;  // checkpoint key, without component prefix
  Shape shape;
  // So that 50 blocks stay finite in bf16.
  float mean = 0.0F;
  float scale = 0.0F;
  bool kept_in_fp32 = false;  // _keep_in_fp32_modules of the class
  SeededValues values = SeededValues::kNormal;
  std::string stream = {};  // names the values when it is not the key that does

  [[nodiscard]] const std::string& stream_name() const { return stream.empty() ? name : stream; }
};

// Outputs that are added to the residual stream are halved, so that their sum over 50 blocks stays
// within the range where bf16 has its digits.
inline constexpr float kResidualFactor = 0.5F;

// 1 / sqrt(value).
[[nodiscard]] float inverse_root(std::int64_t value);

// Collects tensors in order.
class TensorList {
 public:
  struct Linear {
    std::string name;
    std::int64_t out = 0;
    std::int64_t in = 0;
    float factor = 1.0F;
    bool kept_in_fp32 = false;
  };

  // Weight and bias; projection() is the weight alone, named as it is.
  void linear(const Linear& spec);
  void projection(const Linear& spec);
  void bias(const std::string& module, std::int64_t size, bool kept_in_fp32);
  void norm_weight(const std::string& module, std::int64_t size, bool kept_in_fp32);
  void modulation_table(const std::string& name, std::int64_t rows, std::int64_t hidden);
  void add(SeededTensor tensor);

  [[nodiscard]] std::vector<SeededTensor> take();

 private:
  std::vector<SeededTensor> tensors_;
};

// What a checkpoint is stored as; a property of the repository, not of the class.
enum class StoredDType : std::uint8_t {
  kF32,
  kBF16,
  kMixed,  // BF16 with the class's fp32 modules in F32
};

// "F32", "BF16", "mixed". Codes: invalid_value, with the nearest name.
[[nodiscard]] Result<StoredDType> parse_stored_dtype(std::string_view text);
[[nodiscard]] std::string_view stored_dtype_name(StoredDType stored);

[[nodiscard]] DType stored_tensor_dtype(const SeededTensor& tensor, StoredDType stored);

}  // namespace dlo::host_weights
