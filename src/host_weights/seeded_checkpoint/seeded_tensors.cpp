#include "host_weights/seeded_checkpoint/seeded_tensors.h"

#include <fmt/format.h>
#include <array>
#include <cmath>
#include <utility>

#include "base/codes.h"
#include "base/error.h"
#include "base/nearest_name.h"

namespace dlo::host_weights {

namespace {

constexpr float kBiasScale = 0.02F;
constexpr float kNormWeightScale = 0.05F;

struct StoredName {
  StoredDType stored;
  std::string_view name;
};

constexpr std::array kStoredNames = {
    StoredName{StoredDType::kF32, "F32"},
    StoredName{StoredDType::kBF16, "BF16"},
    StoredName{StoredDType::kMixed, "mixed"},
};

}  // namespace

float inverse_root(std::int64_t value) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(value)));
}

void TensorList::linear(const Linear& spec) {
  Linear weight = spec;
  weight.name += ".weight";
  projection(weight);
  bias(spec.name, spec.out, spec.kept_in_fp32);
}

void TensorList::projection(const Linear& spec) {
  add({spec.name,
       {spec.out, spec.in},
       0.0F,
       spec.factor * inverse_root(spec.in),
       spec.kept_in_fp32});
}

void TensorList::bias(const std::string& module, std::int64_t size, bool kept_in_fp32) {
  add({module + ".bias", {size}, 0.0F, kBiasScale, kept_in_fp32});
}

void TensorList::norm_weight(const std::string& module, std::int64_t size, bool kept_in_fp32) {
  add({module + ".weight", {size}, 1.0F, kNormWeightScale, kept_in_fp32});
}

void TensorList::modulation_table(const std::string& name, std::int64_t rows, std::int64_t hidden) {
  add({name, {1, rows, hidden}, 0.0F, inverse_root(hidden), true});
}

void TensorList::add(SeededTensor tensor) {
  tensors_.push_back(std::move(tensor));
}

std::vector<SeededTensor> TensorList::take() {
  return std::move(tensors_);
}

Result<StoredDType> parse_stored_dtype(std::string_view text) {
  std::vector<std::string_view> known;
  for (const auto& row : kStoredNames) {
    if (row.name == text) {
      return row.stored;
    }
    known.push_back(row.name);
  }
  return refuse(codes::kInvalidValue, fmt::format("unknown dtype '{}'", text), "--dtype",
                suggest_name(text, known));
}

std::string_view stored_dtype_name(StoredDType stored) {
  for (const auto& row : kStoredNames) {
    if (row.stored == stored) {
      return row.name;
    }
  }
  throw LogicError("stored dtype without a row in the table");
}

DType stored_tensor_dtype(const SeededTensor& tensor, StoredDType stored) {
  const bool wide =
      stored == StoredDType::kF32 || (stored == StoredDType::kMixed && tensor.kept_in_fp32);
  return wide ? DType::kF32 : DType::kBF16;
}

}  // namespace dlo::host_weights
