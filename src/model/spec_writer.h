// Owns: SpecWriter, which writes the tensors of one block of a model's parameter table under a
// common prefix, each with the dtype that the options give it, and the load rules of tensors that
// are put together from several checkpoint keys.
// Must not own: which tensors a family has. Free of torch. Threading: a value while a table is
// built.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "contracts/parameter_table.h"
#include "model/model_factory.h"

namespace dlo::model {

// Whether a tensor, by its name without the component, is one that the class keeps in fp32.
using KeptInFp32 = bool (*)(std::string_view name);

// The three projections of an attention as the checkpoint has them, and the one that stands for
// them when projections are fused.
struct QkvNames {
  const char* query = "to_q";
  const char* key = "to_k";
  const char* value = "to_v";
  const char* fused = "to_qkv";
};

class SpecWriter {
 public:
  // Writes into `block` of `dit`, whose name is set; names are "<component>.<prefix><name>". All
  // references outlive the writer.
  SpecWriter(const ModelOptions& options, KeptInFp32 kept_in_fp32, std::string prefix,
             contracts::DitSpec& dit, contracts::BlockSpec& block);

  void tensor(const std::string& name, Shape shape,
              contracts::TensorKind kind = contracts::TensorKind::kParameter);
  // Weight and bias.
  void linear(const std::string& name, std::int64_t out_features, std::int64_t in_features);
  // Three linear layers of `features` rows; with ModelOptions::fused_projections one, stacked q, k,
  // v, with a recipe for its weight and its bias.
  void qkv(const std::string& prefix, const QkvNames& names, std::int64_t features,
           std::int64_t in_features);
  // A weight of 3 * heads * head_rows rows that the checkpoint stores head by head.
  void grouped_qkv(const std::string& name, std::int64_t heads, std::int64_t head_rows,
                   std::int64_t in_features);

 private:
  // The checkpoint key of `name`, and its runtime name.
  [[nodiscard]] std::string key(const std::string& name) const { return prefix_ + name; }
  [[nodiscard]] std::string runtime_name(const std::string& name) const;

  const ModelOptions& options_;
  KeptInFp32 kept_in_fp32_;
  std::string prefix_;
  contracts::DitSpec& dit_;
  contracts::BlockSpec& block_;
};

}  // namespace dlo::model
