// Goal: the UMT5 encoder computes what transformers computes, layer by layer, with a mask and
// without one, over few tokens and over as many as saturate the position buckets; and whatever is
// left out of it shows.
// Method: weights, ids and expected tensors of the wan_tiny fixture.
// Tolerance: 3e-5 absolute, the fixtures' own for text. Both sides are fp32; states reach 4, sums
// run over up to 160 keys in another order than the library's, and its own other kernels move the
// fixtures by up to 9.3e-6.

#include <gtest/gtest.h>

#include <cstring>
#include <iostream>
#include <memory>
#include <string>

#include "engine/prompt_stage.h"
#include "host_weights/safetensors/checkpoint_index.h"
#include "model/text/text_encoder.h"
#include "platform/posix/posix_file_system.h"
#include "tests/golden/comparison.h"
#include "tests/golden/golden_model.h"

namespace dlo::golden {
namespace {

constexpr const char* kComponent = "text_encoder";

class Umt5Golden : public testing::Test {
 protected:
  Umt5Golden() {
    const platform::Path folder = fixtures() / "wan_tiny";
    inputs_ = read_golden_tensors(files_, folder / "inputs.safetensors").value();
    expected_ = read_golden_tensors(files_, folder / "expected.safetensors").value();
    model::ModelOptions options;
    options.component = kComponent;
    const auto component = folder / "checkpoint" / kComponent;
    encoder_ = model::make_umt5(read_json(files_, component / "config.json"), options).value();
    const auto checkpoint = host_weights::ComponentCheckpoint::open(files_, component).value();
    spec_.non_block = encoder_->spec();
    weights_ = std::make_unique<test::ResidentWeights>(
        device_, spec_, [&](const contracts::TensorSpec& tensor, ByteSpan out) {
          const auto view = checkpoint.view(tensor.name.substr(std::string(kComponent).size() + 1));
          ASSERT_TRUE(view.ok()) << view.refusal().message();
          ASSERT_EQ(view->shape, tensor.shape) << tensor.name;
          std::memcpy(out.data(), view->bytes.data(), out.size());
        });
  }

  // Into `out`: states under `states`, and intermediates behind "umt5." if they are wanted.
  void encode(const GoldenTensor& ids, const GoldenTensor& mask, const std::string& states,
              bool intermediates, GoldenTensors& out) {
    const GoldenOperand tokens(device_, ids);
    const GoldenOperand open(device_, mask);
    Shape shape = ids.shape;
    shape.push_back(encoder_->geometry().width);
    const GoldenOperand result(device_, shape);
    CollectingTap tap("umt5.", out);
    model::TextCall call{tokens.tensor(), open.tensor(), result.tensor(),
                         intermediates ? &tap : nullptr};
    encoder_->encode(device_, call);
    require_success(device_);
    out[states] = result.value();
  }

  [[nodiscard]] static GoldenTensor all_open(const GoldenTensor& ids) {
    return {ids.shape, std::vector<float>(ids.values.size(), 1.0F)};
  }

  [[nodiscard]] GoldenTensors computed() {
    GoldenTensors out;
    const auto& ids = inputs_.at("umt5.input_ids");
    const auto& long_ids = inputs_.at("umt5.long_input_ids");
    encode(ids, inputs_.at("umt5.attention_mask"), "umt5.prompt_embeds", true, out);
    encode(ids, all_open(ids), "umt5.last_hidden_state_no_mask", false, out);
    encode(long_ids, all_open(long_ids), "umt5.long_last_hidden_state", false, out);
    return out;
  }

  // Of the tensors that the fixture has of the encoder.
  [[nodiscard]] Comparison compare_all() {
    GoldenTensors wanted;
    for (const auto& [name, tensor] : expected_) {
      if (name.starts_with("umt5.")) {
        wanted.emplace(name, tensor);
      }
    }
    return compare(wanted, computed());
  }

  platform::PosixFileSystem files_;
  test::InlineDevice device_;
  GoldenTensors inputs_;
  GoldenTensors expected_;
  std::unique_ptr<model::TextEncoder> encoder_;
  contracts::DitSpec spec_;  // the encoder's one block, as the weights want it
  std::unique_ptr<test::ResidentWeights> weights_;
};

TEST_F(Umt5Golden, EveryTensorOfTheFixture_MatchesWithinTolerance) {
  const Comparison comparison = compare_all();
  std::cout << comparison.text();
  EXPECT_TRUE(comparison.passed()) << comparison.text();
  EXPECT_TRUE(comparison.not_compared.empty()) << comparison.text();
  EXPECT_EQ(comparison.compared.size(), 9U);
}

TEST_F(Umt5Golden, RowsPastTheMask_AreZero) {
  const auto states = computed().at("umt5.prompt_embeds");
  const auto& mask = inputs_.at("umt5.attention_mask");
  const auto width = static_cast<std::size_t>(states.shape.back());
  std::size_t closed = 0;
  for (std::size_t row = 0; row < mask.values.size(); ++row) {
    for (std::size_t channel = 0; channel < width && mask.values[row] == 0.0F; ++channel) {
      EXPECT_EQ(states.values[row * width + channel], 0.0F) << row << " " << channel;
      ++closed;
    }
  }
  EXPECT_GT(closed, 0U);
}

// One part is taken away at a time; the encoder must then miss the fixture.
TEST_F(Umt5Golden, AnyPartOfALayerMissing_DoesNotMatch) {
  for (const auto& tensor : encoder_->spec().tensors) {
    const auto bytes = weights_->bytes(tensor.name);
    const std::vector<std::byte> kept(bytes.begin(), bytes.end());
    std::memset(bytes.data(), 0, bytes.size());
    EXPECT_FALSE(compare_all().passed()) << tensor.name;
    std::memcpy(bytes.data(), kept.data(), kept.size());
  }
  EXPECT_TRUE(compare_all().passed());
}

// From the ids of a request to its states as a run makes them: the engine's own uploads, filling up
// and mask. The negative of a request is the end token alone.
TEST_F(Umt5Golden, PromptsThroughTheEngine_AreTheFixturesStates) {
  const auto& ids = inputs_.at("umt5.input_ids");
  const auto& mask = inputs_.at("umt5.attention_mask");
  const auto& wanted = expected_.at("umt5.prompt_embeds");
  const auto rows = static_cast<std::size_t>(ids.shape[1]);
  const auto row_values = rows * static_cast<std::size_t>(wanted.shape[2]);
  for (std::size_t prompt = 0; prompt < static_cast<std::size_t>(ids.shape[0]); ++prompt) {
    engine::RequestSpec requests;
    requests.text_tokens = static_cast<std::uint32_t>(rows);
    for (std::size_t i = prompt * rows; i < (prompt + 1) * rows && mask.values[i] == 1.0F; ++i) {
      requests.prompt_tokens.push_back(static_cast<std::int64_t>(ids.values[i]));
    }
    const Shape shape = {1, ids.shape[1], wanted.shape[2]};
    const GoldenOperand states(device_, shape);
    const GoldenOperand negative(device_, shape);
    ASSERT_TRUE(engine::check_prompt(requests, encoder_->geometry()).ok());
    auto stage = engine::PromptStage::make(device_, *encoder_, requests,
                                           {{model::PromptOf::kRequest, states.tensor()},
                                            {model::PromptOf::kNegative, negative.tensor()}})
                     .value();
    stage->enqueue(0);
    require_success(device_);
    const auto begin = wanted.values.begin() + static_cast<std::ptrdiff_t>(prompt * row_values);
    const GoldenTensor part{shape, {begin, begin + static_cast<std::ptrdiff_t>(row_values)}};
    const auto comparison =
        compare({{"umt5.prompt_embeds", part}}, {{"umt5.prompt_embeds", states.value()}});
    EXPECT_TRUE(comparison.passed()) << comparison.text();

    GoldenTensors alone;
    encode({{1, 1}, {1.0F}}, {{1, 1}, {1.0F}}, "umt5.end", false, alone);
    GoldenTensor first{alone.at("umt5.end").shape, negative.value().values};
    first.values.resize(alone.at("umt5.end").values.size());
    EXPECT_TRUE(compare(alone, {{"umt5.end", first}}).passed());
  }
}

}  // namespace
}  // namespace dlo::golden
