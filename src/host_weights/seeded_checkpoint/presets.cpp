#include "host_weights/seeded_checkpoint/presets.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/codes.h"
#include "base/nearest_name.h"
#include "host_weights/seeded_checkpoint/checkpoint_texts.h"
#include "host_weights/seeded_checkpoint/flux_checkpoint.h"
#include "host_weights/seeded_checkpoint/h3_checkpoint.h"
#include "host_weights/seeded_checkpoint/wan_tensors.h"

namespace dlo::host_weights {

namespace {

using nlohmann::json;

constexpr const char* kTransformer = "transformer";
// The share of the noise from which on the first of Wan 2.2's transformers works.
constexpr double kWanBoundary = 0.875;

// Two transformers of a Wan preset each.
struct TwinPreset {
  std::string_view name;
  std::string_view of;
};

constexpr std::array kTwins = {TwinPreset{"wan_2_2_tiny", "wan_tiny"},
                               TwinPreset{"wan_2_2_cpu", "wan_cpu"},
                               TwinPreset{"wan_2_2_a14b", "wan_14b"}};

template <typename Presets>
auto find_preset(const Presets& presets, std::string_view name) {
  for (const auto& preset : presets) {
    if (preset.name == name) {
      return &preset;
    }
  }
  return decltype(&*presets.begin())(nullptr);
}

SeededModel wan_model(const WanPreset& preset, std::optional<std::int64_t> blocks, bool twin) {
  SeededModel model;
  model.preset_blocks = preset.shape.num_layers;
  WanShape shape = preset.shape;
  shape.num_layers = blocks.value_or(shape.num_layers);
  model.blocks = shape.num_layers;
  model.model_index = wan_index_json(twin ? std::optional(kWanBoundary) : std::nullopt);
  model.scheduler = scheduler_config_json(preset.flow_shift, /*dynamic=*/false);
  model.transformers.push_back({kTransformer, wan_config_json(shape), wan_tensors(shape)});
  if (twin) {
    SeededComponent second = model.transformers.front();
    second.name = "transformer_2";
    for (auto& tensor : second.tensors) {
      tensor.stream = second.name + "." + tensor.name;
    }
    model.transformers.push_back(std::move(second));
  }
  return model;
}

Result<SeededModel> flux_model(const FluxPreset& preset, std::optional<std::int64_t> blocks) {
  FluxShape shape = preset.shape;
  if (blocks) {
    const auto cut = flux_depth(shape, *blocks);
    if (!cut) {
      return cut.refusal();
    }
    shape = *cut;
  }
  SeededModel model;
  model.preset_blocks = preset.shape.blocks();
  model.blocks = shape.blocks();
  model.model_index = flux_index_json();
  model.scheduler = scheduler_config_json(3.0, /*dynamic=*/true);
  model.transformers.push_back({kTransformer, flux_config_json(shape), flux_tensors(shape)});
  return model;
}

SeededModel h3_model(const H3Preset& preset, std::optional<std::int64_t> blocks) {
  SeededModel model;
  model.preset_blocks = preset.shape.num_layers;
  H3Shape shape = preset.shape;
  shape.num_layers = blocks.value_or(shape.num_layers);
  model.blocks = shape.num_layers;
  model.model_index = h3_index_json();
  model.transformers.push_back({kTransformer, h3_config_json(shape), h3_tensors(shape)});
  return model;
}

Result<SeededModel> made(std::string_view name, std::optional<std::int64_t> blocks) {
  if (const auto* wan = find_preset(wan_presets(), name)) {
    return wan_model(*wan, blocks, /*twin=*/false);
  }
  if (const auto* twin = find_preset(kTwins, name)) {
    return wan_model(wan_preset(twin->of).value(), blocks, /*twin=*/true);
  }
  if (const auto* flux = find_preset(flux_presets(), name)) {
    return flux_model(*flux, blocks);
  }
  if (const auto* h3 = find_preset(h3_presets(), name)) {
    return h3_model(*h3, blocks);
  }
  return refuse(codes::kInvalidValue, fmt::format("unknown preset '{}'", name), "--preset",
                suggest_name(name, preset_names()));
}

}  // namespace

std::vector<std::string_view> preset_names() {
  std::vector<std::string_view> names;
  const auto append = [&names](const auto& presets) {
    for (const auto& preset : presets) {
      names.push_back(preset.name);
    }
  };
  append(wan_presets());
  append(kTwins);
  append(flux_presets());
  append(h3_presets());
  return names;
}

Result<SeededModel> seeded_model(std::string_view preset, std::optional<std::int64_t> blocks) {
  if (blocks && (*blocks < 1 || *blocks > kBlockCountLimit)) {
    return refuse(codes::kInvalidValue, fmt::format("{} blocks were asked for", *blocks),
                  "--blocks", fmt::format("ask for 1 to {}", kBlockCountLimit));
  }
  auto model = made(preset, blocks);
  if (model.ok()) {
    model->preset = preset;
  }
  return model;
}

}  // namespace dlo::host_weights
