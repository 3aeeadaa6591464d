// Goal: every family meets every kind of checkpoint with the predicted code. Method: a generated
// table {family} x {variant}; a family is one row: its class, tensors, recipes and how its
// checkpoint is stored, so another one joins by a row.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "host_weights/seeded_checkpoint/wan_tensors.h"
#include "tests/unit/host_weights/mapping/mapping_fixtures.h"

namespace dlo::host_weights {
namespace {

using test::DitSpec;
using test::StoredTensor;

// What a variant may change before the preflight is asked.
struct Case {
  DitSpec dit;
  std::vector<StoredTensor> stored;
  PreflightRequest request;
};

struct Family {
  std::string name;
  std::function<DitSpec()> dit;          // BF16 but for the tensors that the family keeps in F32
  std::vector<std::string> fused_parts;  // keys of one block that a fused variant stacks
};

DitSpec wan() {
  DitSpec dit;
  dit.name = "transformer";
  dit.loading.model_class = "WanTransformer3DModel";
  const auto preset = wan_preset("wan_tiny").value();
  dit.non_block.name = "transformer (non-block)";
  for (const auto& tensor : wan_tensors(preset.shape)) {
    dit.non_block.tensors.push_back(test::spec("transformer." + tensor.name, tensor.shape,
                                               stored_tensor_dtype(tensor, StoredDType::kMixed)));
  }
  return dit;
}

DitSpec flux() {
  DitSpec dit;
  dit.name = "transformer";
  dit.loading.model_class = "FluxTransformer2DModel";
  const std::string dual = "transformer.transformer_blocks.0";
  const std::string single = "transformer.single_transformer_blocks.0";
  dit.blocks.push_back({dual,
                        {test::spec(dual + ".attn.to_q.weight", {4, 4}),
                         test::spec(dual + ".attn.to_k.weight", {4, 4}),
                         test::spec(dual + ".attn.to_v.weight", {4, 4}),
                         test::spec(dual + ".norm1.linear.weight", {24, 4}),
                         test::spec(dual + ".attn.norm_q.weight", {2}, DType::kF32)},
                        nullptr});
  dit.blocks.push_back({single,
                        {test::spec(single + ".proj_mlp.weight", {16, 4}),
                         test::spec(single + ".proj_out.weight", {4, 20})},
                        nullptr});
  dit.non_block = {
      "transformer (non-block)", {test::spec("transformer.x_embedder.weight", {4, 64})}, nullptr};
  return dit;
}

std::vector<Family> families() {
  return {{"wan", wan, {"blocks.0.attn1.to_q", "blocks.0.attn1.to_k", "blocks.0.attn1.to_v"}},
          {"flux",
           flux,
           {"transformer_blocks.0.attn.to_q", "transformer_blocks.0.attn.to_k",
            "transformer_blocks.0.attn.to_v"}},
          {"minimax_h3", [] { return test::grouped_dit(); }, {}}};
}

// Every spec of the DiT, to be changed in place.
std::vector<contracts::TensorSpec*> specs(DitSpec& dit) {
  std::vector<contracts::TensorSpec*> all;
  for (auto& block : dit.blocks) {
    for (auto& tensor : block.tensors) {
      all.push_back(&tensor);
    }
  }
  for (auto& tensor : dit.non_block.tensors) {
    all.push_back(&tensor);
  }
  return all;
}

// The first stored tensor of the family, made anew.
void remake_first(Case& item, DType dtype, Shape shape) {
  item.stored.front() = test::drawn_tensor(item.stored.front().name, dtype, std::move(shape));
}

DType other_dtype(DType dtype) {
  return dtype == DType::kF32 ? DType::kF16 : DType::kI32;
}

// The model wants its first three parts as one tensor, or q, k, v from a class without an adapter.
void fuse(const Family& family, Case& item) {
  if (family.fused_parts.empty()) {
    item.dit.loading.model_class += "Fused";
    return;
  }
  const std::string prefix = item.dit.name + ".";
  const std::string fused = prefix + "fused.to_qkv.weight";
  std::vector<contracts::StackedPart> parts;
  Shape shape;
  for (const auto& part : family.fused_parts) {
    const std::string name = prefix + part + ".weight";
    for (const auto* tensor : specs(item.dit)) {
      if (tensor->name == name) {
        shape = tensor->shape;
        parts.push_back({part + ".weight", shape[0]});
      }
    }
  }
  const auto drop = [&](std::vector<contracts::TensorSpec>& tensors) {
    std::erase_if(tensors, [&](const auto& tensor) {
      return std::any_of(parts.begin(), parts.end(),
                         [&](const auto& part) { return tensor.name == prefix + part.source_key; });
    });
  };
  for (auto& block : item.dit.blocks) {
    drop(block.tensors);
  }
  drop(item.dit.non_block.tensors);
  item.dit.loading.recipes[fused] =
      contracts::stacked_rows(parts, Shape(shape.begin() + 1, shape.end()));
  shape[0] *= 3;
  item.dit.non_block.tensors.push_back(test::spec(fused, shape));
}

struct Variant {
  std::string name;
  std::function<void(const Family&, Case&)> change;
  std::string_view code;      // empty: a plan
  std::string_view obstacle;  // with checkpoint_plan_incompatible
};

std::vector<Variant> topology_variants() {
  return {
      {"identity", [](const Family&, Case&) {}, "", ""},
      {"tp2", [](const Family&, Case& item) { item.request.tensor_parallel_size = 2; },
       codes::kUnsupportedTp, ""},
      {"hsdp", [](const Family&, Case& item) { item.request.use_hsdp = true; },
       codes::kUnsupportedHsdp, ""},
      {"online_quant", [](const Family&, Case& item) { item.request.online_quantization = true; },
       codes::kUnsupportedOnlineQuantization, ""},
      {"mixed_source",
       [](const Family&, Case& item) { item.request.sources.front().prefix.clear(); },
       codes::kCheckpointPlanIncompatible, plan_obstacles::kMixedSource},
  };
}

std::vector<Variant> storage_variants() {
  const auto code = codes::kCheckpointPlanIncompatible;
  return {
      {"fp32_disk",
       [](const Family&, Case& item) {
         for (auto& tensor : item.stored) {
           tensor = test::drawn_tensor(tensor.name, DType::kF32, tensor.shape);
         }
       },
       code, plan_obstacles::kDType},
      // Stored mixed, run wholly in BF16.
      {"mixed_dtype",
       [](const Family&, Case& item) {
         for (auto* tensor : specs(item.dit)) {
           tensor->dtype = DType::kBF16;
         }
       },
       code, plan_obstacles::kDType},
      {"missing_key", [](const Family&, Case& item) { item.stored.erase(item.stored.begin()); },
       code, plan_obstacles::kMissingBindings},
      {"wrong_shape",
       [](const Family&, Case& item) {
         Shape shape = item.stored.front().shape;
         ++shape.front();
         remake_first(item, item.stored.front().dtype, shape);
       },
       code, plan_obstacles::kShape},
      {"wrong_dtype",
       [](const Family&, Case& item) {
         remake_first(item, other_dtype(item.stored.front().dtype), item.stored.front().shape);
       },
       code, plan_obstacles::kDType},
      {"duplicate",
       [](const Family&, Case& item) {
         item.stored.push_back(item.stored.front());
         item.stored.back().name += ".copy";
         item.request.remap_key = [](const std::string& name) {
           return name.ends_with(".copy") ? name.substr(0, name.size() - 5) : name;
         };
       },
       code, plan_obstacles::kDuplicateMapping},
  };
}

void check(const Family& family, const Variant& variant) {
  SCOPED_TRACE(family.name + " x " + variant.name);
  Case item{family.dit(), {}, {}};
  item.stored = test::stored_as_it_runs(item.dit);
  item.request = test::request_for(item.dit);
  variant.change(family, item);
  item.request.dits = {&item.dit};
  test::MemoryFileSystem files;
  test::write_sharded(files, "/m/transformer", item.stored);
  const auto plan = preflight_checkpoint(files, item.request);
  EXPECT_EQ(plan.ok() ? "" : plan.refusal().code, variant.code);
  if (!plan.ok() && !variant.obstacle.empty()) {
    EXPECT_TRUE(plan.refusal().what.starts_with(variant.obstacle)) << plan.refusal().message();
  }
}

TEST(PlanTable, EveryFamilyAndTopology_GivesThePredictedCode) {
  for (const auto& family : families()) {
    for (const auto& variant : topology_variants()) {
      check(family, variant);
    }
  }
}

TEST(PlanTable, EveryFamilyAndStorage_GivesThePredictedCode) {
  for (const auto& family : families()) {
    for (const auto& variant : storage_variants()) {
      check(family, variant);
    }
  }
}

TEST(PlanTable, FusedWithoutAdapter_IsRefusedForEveryFamily) {
  for (const auto& family : families()) {
    const auto obstacle = family.fused_parts.empty() ? plan_obstacles::kCustomLoader
                                                     : plan_obstacles::kMissingBindings;
    check(family, {"fused", fuse, codes::kCheckpointPlanIncompatible, obstacle});
  }
}

}  // namespace
}  // namespace dlo::host_weights
