#include "host_weights/adapters/checkpoint_adapter.h"

#include <array>
#include <utility>

#include "contracts/row_recipes.h"

namespace dlo::host_weights {

namespace {

using contracts::LoadRules;
using contracts::TensorSpec;

// Every loader of its own is a plain copy (Cosmos3 without tensor parallelism).
class PassThroughAdapter final : public CheckpointAdapter {
 public:
  [[nodiscard]] std::optional<AdapterPolicy> policy(const TensorSpec& tensor,
                                                    const LoadRules& rules) const override {
    if (rules.recipes.contains(tensor.name)) {
      return std::nullopt;
    }
    return AdapterPolicy{};
  }
};

// MiniMax-H3: plain copies, but for q, k, v that are stored head by head.
class GroupedQkvAdapter final : public CheckpointAdapter {
 public:
  [[nodiscard]] std::optional<AdapterPolicy> policy(const TensorSpec& tensor,
                                                    const LoadRules& rules) const override {
    const auto recipe = rules.recipes.find(tensor.name);
    const bool grouped = tensor.name.ends_with(".qkv_proj.weight");
    if (grouped != (recipe != rules.recipes.end())) {
      return std::nullopt;
    }
    if (!grouped) {
      return AdapterPolicy{};
    }
    if (!is_grouped_qkv(recipe->second, tensor.shape)) {
      return std::nullopt;
    }
    return AdapterPolicy{recipe->second};
  }

 private:
  // Whether the model's recipe is the regrouping that this adapter stands for.
  static bool is_grouped_qkv(const contracts::CopyRecipe& recipe, const Shape& shape) {
    const auto boxes = static_cast<std::int64_t>(recipe.copies.size());
    if (boxes == 0 || boxes % 3 != 0 || shape.empty() || shape[0] % boxes != 0) {
      return false;
    }
    return recipe == contracts::grouped_qkv(recipe.copies.front().source_key, boxes / 3,
                                            shape[0] / boxes,
                                            Shape(shape.begin() + 1, shape.end()));
  }
};

}  // namespace

const CheckpointAdapter* find_adapter(std::string_view model_class) {
  static const GroupedQkvAdapter grouped_qkv;
  static const PassThroughAdapter pass_through;
  static constexpr std::array<std::pair<std::string_view, const CheckpointAdapter*>, 2> kAdapters{
      {{"MiniMaxH3DiTModel", &grouped_qkv}, {"Cosmos3Transformer3DModel", &pass_through}}};
  for (const auto& [name, adapter] : kAdapters) {
    if (name == model_class) {
      return adapter;
    }
  }
  return nullptr;
}

}  // namespace dlo::host_weights
