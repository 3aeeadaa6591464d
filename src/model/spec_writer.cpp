#include "model/spec_writer.h"

#include <utility>

#include "contracts/row_recipes.h"

namespace dlo::model {

SpecWriter::SpecWriter(const ModelOptions& options, KeptInFp32 kept_in_fp32, std::string prefix,
                       contracts::DitSpec& dit, contracts::BlockSpec& block)
    : options_(options),
      kept_in_fp32_(kept_in_fp32),
      prefix_(std::move(prefix)),
      dit_(dit),
      block_(block) {}

std::string SpecWriter::runtime_name(const std::string& name) const {
  return options_.component + "." + prefix_ + name;
}

void SpecWriter::tensor(const std::string& name, Shape shape, contracts::TensorKind kind) {
  contracts::TensorSpec spec;
  spec.name = runtime_name(name);
  spec.kind = kind;
  spec.shape = std::move(shape);
  const bool wide = options_.keep_fp32_modules && kept_in_fp32_(key(name));
  spec.dtype = wide ? DType::kF32 : options_.runtime_dtype;
  block_.tensors.push_back(std::move(spec));
}

void SpecWriter::linear(const std::string& name, std::int64_t out_features,
                        std::int64_t in_features) {
  tensor(name + ".weight", {out_features, in_features});
  tensor(name + ".bias", {out_features});
}

void SpecWriter::qkv(const std::string& prefix, const QkvNames& names, std::int64_t features,
                     std::int64_t in_features) {
  const std::vector<std::string> parts = {prefix + names.query, prefix + names.key,
                                          prefix + names.value};
  if (!options_.fused_projections) {
    for (const auto& part : parts) {
      linear(part, features, in_features);
    }
    return;
  }
  const std::string fused = prefix + names.fused;
  linear(fused, 3 * features, in_features);
  const auto stack = [&](const char* leaf, const Shape& row_shape) {
    std::vector<contracts::StackedPart> stacked;
    for (const auto& part : parts) {
      stacked.push_back({key(part + leaf), features});
    }
    dit_.loading.recipes.emplace(runtime_name(fused + leaf),
                                 contracts::stacked_rows(stacked, row_shape));
  };
  stack(".weight", {in_features});
  stack(".bias", {});
}

void SpecWriter::grouped_qkv(const std::string& name, std::int64_t heads, std::int64_t head_rows,
                             std::int64_t in_features) {
  tensor(name, {3 * heads * head_rows, in_features});
  dit_.loading.recipes.emplace(runtime_name(name),
                               contracts::grouped_qkv(key(name), heads, head_rows, {in_features}));
}

}  // namespace dlo::model
