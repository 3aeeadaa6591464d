#include "tests/golden/h3_golden.h"

#include <map>
#include <vector>

#include "base/error.h"
#include "model/minimax_h3/h3_sampler.h"

namespace dlo::golden {

namespace {

// Of the fixture's loop: the first four video rows stay as they are.
constexpr std::int64_t kConditioningRows = 4;

std::vector<std::int64_t> integers(const GoldenTensor& tensor) {
  std::vector<std::int64_t> out;
  for (const float value : tensor.values) {
    out.push_back(static_cast<std::int64_t>(value));
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<H3Golden>> H3Golden::open(const platform::FileSystem& files,
                                                 const platform::Path& folder,
                                                 const model::ModelOptions& options) {
  auto inputs = read_golden_tensors(files, folder / "inputs.safetensors");
  if (!inputs.ok()) {
    return inputs.refusal();
  }
  std::unique_ptr<H3Golden> golden(new H3Golden());
  golden->inputs_ = std::move(*inputs);
  auto placed = GoldenModel::open(files, golden->device_, folder / "native" / "transformer",
                                  model::make_h3, options);
  if (!placed.ok()) {
    return placed.refusal();
  }
  golden->placed_ = std::move(placed).value();
  golden->layout_ = std::make_shared<const model::PackedLayout>(golden->stated_layout());
  return golden;
}

model::PackedLayout H3Golden::stated_layout() const {
  model::PackedLayout layout;
  layout.timestep_indices = integers(inputs_.at("timestep_indices"));
  layout.tags = integers(inputs_.at("token_tags"));
  layout.positions = inputs_.at("position_ids").values;
  layout.video_rows = integers(inputs_.at("video_indices"));
  layout.audio_rows = integers(inputs_.at("audio_indices"));
  layout.text_rows = integers(inputs_.at("text_indices"));
  return layout;
}

GoldenTensors H3Golden::compute_forward() {
  const auto input = [&](const char* name) { return GoldenOperand(device_, inputs_.at(name)); };
  const GoldenOperand video = input("hidden_states");
  const GoldenOperand audio = input("audio_hidden_states");
  const GoldenOperand text = input("encoder_hidden_states");
  const GoldenOperand timestep = input("timestep");
  const GoldenOperand output(device_, video.tensor().shape);
  const GoldenOperand audio_output(device_, audio.tensor().shape);
  GoldenTensors out;
  CollectingTap tap("", out);
  model::DitCall call{video.tensor(), timestep.tensor(), text.tensor(), output.tensor(), &tap};
  call.audio = audio.tensor();
  call.audio_output = audio_output.tensor();
  call.layout = layout_;
  placed_->model().forward(device_, call);
  require_success(device_);
  out.insert_or_assign("sample", output.value());
  out.insert_or_assign("audio_sample", audio_output.value());
  return out;
}

GoldenTensors H3Golden::compute_loop(std::size_t steps) {
  model::H3Sampler sampler(placed_->model(), {}, steps, layout_, kConditioningRows);
  const std::map<std::string, std::string> names = {{"video", "hidden_states"},
                                                    {"audio", "audio_hidden_states"},
                                                    {"text", "encoder_hidden_states"}};
  std::map<std::string, std::size_t> places;
  std::vector<GoldenOperand> operands;
  std::vector<model::DeviceTensor> tensors;
  for (const auto& asked : sampler.operands()) {
    const auto found = names.find(asked.name);
    places[asked.name] = operands.size();
    operands.push_back(found == names.end() ? GoldenOperand(device_, asked.shape)
                                            : GoldenOperand(device_, inputs_.at(found->second)));
    require(operands.back().tensor().shape == asked.shape, "an input has another shape");
    tensors.push_back(operands.back().tensor());
  }
  sampler.bind(tensors);
  GoldenTensors out;
  for (std::size_t step = 0; step < sampler.step_count(); ++step) {
    sampler.enqueue_step(device_, step);
    require_success(device_);
    for (const char* name : {"video", "audio"}) {
      out["loop." + std::string(name) + "." + std::to_string(step)] =
          operands[places.at(name)].value();
    }
  }
  out["loop.video_timesteps"] = row(sampler.video_schedule().timesteps);
  out["loop.audio_timesteps"] = row(sampler.audio_schedule().timesteps);
  return out;
}

}  // namespace dlo::golden
