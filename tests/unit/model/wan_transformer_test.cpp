// Goal: a forward's bytes depend on operand and weight bytes alone, never on where weights lie, on
// an observer, or on how far the compute stream lags. Method: the tiny model with seeded weights,
// run on inline devices; what the numbers are is the golden tests' business.

#include <ATen/core/Tensor.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/codes.h"
#include "base/value_generator.h"
#include "contracts/block_layout.h"
#include "model/torch_views.h"
#include "model/wan/wan_block.h"
#include "model/wan/wan_rope.h"
#include "tests/support/inline_device.h"
#include "tests/support/resident_weights.h"
#include "tests/unit/model/tiny_wan.h"

namespace dlo::model {
namespace {

using test::InlineDevice;
using test::InlineMode;
using test::ResidentWeights;
using test::seeded_values;
using test::TinyWanCall;
using Bytes = std::vector<std::byte>;

Bytes resident_output(const ModelOptions& options = {}) {
  InlineDevice device;
  const auto model = test::make_tiny_wan(3, options);
  const ResidentWeights weights(device, model->spec(), seeded_values(1));
  TinyWanCall operands(device, 2);
  model->forward(device, operands.call());
  EXPECT_FALSE(device.failure().has_value());
  return operands.output_bytes();
}

// Streams through two slots the way an offloader does, on a device that lags: each block's bytes
// are copied into its slot as an operation in stream order.
class TwoSlotObserver final : public contracts::BlockObserver {
 public:
  TwoSlotObserver(InlineDevice& device, const contracts::DitSpec& spec) : device_(device) {
    std::uint64_t largest = 0;
    for (const auto& block : spec.blocks) {
      layouts_.emplace_back(block);
      largest = std::max(largest, layouts_.back().bytes());
    }
    for (auto& slot : slots_) {
      slot = device.allocate_device(largest, platform::MemoryPurpose::kSlot).value();
    }
    for (std::size_t i = 0; i < spec.blocks.size(); ++i) {
      const auto& block = spec.blocks[i];
      bindings_.push_back(block.binding);
      host_.emplace_back(layouts_[i].bytes());
      for (const auto& entry : layouts_[i].entries()) {
        seeded_values(1)(block.tensors[entry.tensor_index],
                         {host_[i].data() + entry.offset_bytes, entry.span_bytes});
      }
      block.binding->add_place(0, slots_[0]->span(), layouts_[i]);
      block.binding->add_place(1, slots_[1]->span(), layouts_[i]);
    }
  }

  void before_block(std::uint32_t block) override {
    const std::uint32_t slot = next_slot_;
    next_slot_ = 1 - next_slot_;
    device_.copy_to_device(platform::StreamKind::kCopy,
                           slots_[slot]->span().subspan(0, host_[block].size()), host_[block], {});
    bindings_[block]->bind(slot);
  }
  void after_block(std::uint32_t block) override { bindings_[block]->bind_placeholder(); }

 private:
  InlineDevice& device_;
  std::vector<contracts::BlockLayout> layouts_;
  std::unique_ptr<platform::DeviceBuffer> slots_[2];
  std::vector<Bytes> host_;
  std::vector<contracts::BlockBinding*> bindings_;
  std::uint32_t next_slot_ = 0;
};

ModelOptions bf16_arithmetic() {
  ModelOptions options;
  options.runtime_dtype = DType::kBF16;
  options.compute_dtype = DType::kBF16;
  return options;
}

void expect_streamed_equals_resident(const ModelOptions& options) {
  InlineDevice device(InlineMode::kQueued);
  const auto model = test::make_tiny_wan(3, options);
  contracts::DitSpec edges;
  edges.non_block = model->spec().non_block;
  const ResidentWeights weights(device, edges, seeded_values(1));
  TwoSlotObserver observer(device, model->spec());
  model->set_observer(&observer);
  TinyWanCall first(device, 2);
  TinyWanCall second(device, 3);
  model->forward(device, first.call());
  model->forward(device, second.call());  // enqueued behind the first, as guidance does
  device.run_queued();
  ASSERT_FALSE(device.failure().has_value());
  EXPECT_EQ(first.output_bytes(), resident_output(options));
  EXPECT_NE(second.output_bytes(), resident_output(options));
}

TEST(WanTransformer, StreamedThroughTwoSlotsBehindALaggingStream_BytesEqualResident) {
  expect_streamed_equals_resident({});
  expect_streamed_equals_resident(bf16_arithmetic());
}

TEST(WanTransformer, SameForwardTwice_BytesEqual) {
  EXPECT_EQ(resident_output(), resident_output());
  EXPECT_EQ(resident_output(bf16_arithmetic()), resident_output(bf16_arithmetic()));
  EXPECT_NE(resident_output(bf16_arithmetic()), resident_output());
}

TEST(WanTransformer, QueryChunks_DoNotChangeMoreThanRounding) {
  ModelOptions options;
  options.attention_query_chunk = 7;
  const Bytes whole = resident_output();
  const Bytes chunked = resident_output(options);
  for (std::size_t i = 0; i < whole.size(); i += sizeof(float)) {
    float a = 0.0F;
    float b = 0.0F;
    std::memcpy(&a, whole.data() + i, sizeof(a));
    std::memcpy(&b, chunked.data() + i, sizeof(b));
    ASSERT_NEAR(a, b, 1e-5F);
  }
}

// Views of tensors that have an allocation each, `offset` bytes behind a 256-byte boundary of it.
struct SeparateTensors {
  std::vector<std::unique_ptr<platform::DeviceBuffer>> buffers;
  BlockViews views;
};

SeparateTensors separate_tensors(InlineDevice& device, const contracts::BlockSpec& block) {
  SeparateTensors out;
  for (const auto& spec : block.tensors) {
    out.buffers.push_back(
        device.allocate_device(spec.span_bytes(), platform::MemoryPurpose::kOther).value());
    const DeviceSpan span = out.buffers.back()->span();
    seeded_values(1)(spec, {span.data, span.bytes});
    out.views.tensors.push_back(as_torch({span, spec.dtype, spec.shape}, {}));
  }
  return out;
}

Bytes block_output(const BlockViews& views) {
  const c10::InferenceMode guard;
  InlineDevice device;
  const WanConfig config = [] {
    WanConfig tiny;
    tiny.num_attention_heads = 2;
    tiny.attention_head_dim = 12;
    return tiny;
  }();
  std::vector<std::unique_ptr<platform::DeviceBuffer>> buffers;
  const auto seeded = [&](const std::string& name, const Shape& shape) {
    const std::uint64_t bytes = tensor_bytes(shape, DType::kF32).value();
    buffers.push_back(device.allocate_device(bytes, platform::MemoryPurpose::kOther).value());
    const DeviceSpan span = buffers.back()->span();
    ValueGenerator(name, 4).fill_normal({span.data, span.bytes}, DType::kF32, 0, 0.0F, 1.0F);
    return as_torch({span, DType::kF32, shape}, {});
  };
  const WanConditioning conditioning{seeded("text", {2, 7, 24}), seeded("time", {2, 1, 6, 24}),
                                     make_wan_rope(config, {3, 2, 5})};
  const at::Tensor out =
      wan_block(config, {}, views, conditioning, seeded("hidden", {2, 30, 24}), TapView(nullptr))
          .contiguous();
  const auto* data = static_cast<const std::byte*>(out.const_data_ptr());
  return {data, data + out.nbytes()};
}

TEST(WanBlock, WeightsInOneSlotOrInSeparateAllocations_BytesEqual) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    ModelOptions options;
    options.runtime_dtype = dtype;
    InlineDevice device;
    const auto model = test::make_tiny_wan(1, options);
    const auto& block = model->spec().blocks[0];
    const SeparateTensors separate = separate_tensors(device, block);
    const Bytes expected = block_output(separate.views);
    const contracts::BlockLayout layout(block);
    // Slots that start at each 256-byte step of a page.
    const auto buffer =
        device.allocate_device(layout.bytes() + 4096, platform::MemoryPurpose::kSlot).value();
    for (std::uint64_t start = 0; start < 4096; start += kTensorAlignmentBytes) {
      const DeviceSpan slot = buffer->span().subspan(start, layout.bytes());
      for (const auto& entry : layout.entries()) {
        seeded_values(1)(block.tensors[entry.tensor_index],
                         {slot.data + entry.offset_bytes, entry.span_bytes});
      }
      ASSERT_EQ(block_output(make_views(block, slot, layout, {})), expected) << start;
    }
  }
}

TEST(WanRope, SameGrid_TablesAreMadeOnce) {
  const c10::InferenceMode guard;
  WanConfig config;
  config.attention_head_dim = 12;
  WanRopeCache cache{ComputeDevice{}};
  const void* first = cache.tables(config, {3, 2, 5}).cos.const_data_ptr();
  const void* other = cache.tables(config, {1, 2, 5}).cos.const_data_ptr();
  EXPECT_NE(first, other);
  EXPECT_EQ(cache.tables(config, {3, 2, 5}).cos.const_data_ptr(), first);
}

TEST(WanTransformer, WeightsOfAnotherDevice_ThrowsBeforeAnythingIsEnqueued) {
  ModelOptions options;
  options.device.cuda_ordinal = 1;
  const auto model = test::make_tiny_wan(1, options);
  InlineDevice device;
  TinyWanCall operands(device, 2);
  EXPECT_THROW(model->forward(device, operands.call()), LogicError);
  EXPECT_TRUE(device.launched().empty());
}

class NameTap final : public ForwardTap {
 public:
  void see(std::string_view name, const at::Tensor&) override { names.emplace(name); }
  std::set<std::string> names;
};

TEST(WanTransformer, Tap_SeesEveryBlockAndChangesNoByte) {
  for (const ModelOptions& options : {ModelOptions{}, bf16_arithmetic()}) {
    InlineDevice device;
    const auto model = test::make_tiny_wan(3, options);
    const ResidentWeights weights(device, model->spec(), seeded_values(1));
    TinyWanCall operands(device, 2);
    NameTap tap;
    operands.call().tap = &tap;
    model->forward(device, operands.call());
    EXPECT_EQ(operands.output_bytes(), resident_output(options));
    for (const char* name : {"patch_embedding", "temb", "rope.cos", "block.0.attn1", "block.2.ffn",
                             "block.2", "after_final_norm", "sample"}) {
      EXPECT_TRUE(tap.names.contains(name)) << name;
    }
  }
}

TEST(WanTransformer, EdgesAtPlaceholder_NamedErrorBeforeAnythingIsLaunched) {
  InlineDevice device;
  const auto model = test::make_tiny_wan(1);
  TinyWanCall operands(device, 2);
  try {
    model->forward(device, operands.call());
    FAIL() << "a placeholder was read";
  } catch (const RunError& error) {
    EXPECT_EQ(error.code(), codes::kPlaceholderRead);
    EXPECT_EQ(error.refusal().where, "transformer (non-block)");
  }
  EXPECT_TRUE(device.launched().empty());
}

TEST(WanTransformer, BadOperands_AreRefusedByCode) {
  InlineDevice device;
  const auto model = test::make_tiny_wan(1);
  const auto code_with = [&](const auto& change) -> std::string {
    TinyWanCall operands(device, 2);
    change(operands.call());
    try {
      model->forward(device, operands.call());
    } catch (const RunError& error) {
      return error.code();
    }
    return "accepted";
  };
  EXPECT_EQ(code_with([](DitCall& call) { call.latents.shape[3] = 5; }), codes::kInvalidValue);
  EXPECT_EQ(code_with([](DitCall& call) { call.latents.shape[2] = 17; }), codes::kInvalidValue);
  EXPECT_EQ(code_with([](DitCall& call) { call.latents.shape[1] = 5; }), codes::kShapeMismatch);
  EXPECT_EQ(code_with([](DitCall& call) { call.latents.shape.pop_back(); }), codes::kShapeMismatch);
  EXPECT_EQ(code_with([](DitCall& call) { call.timestep.shape = {2, 29}; }), codes::kShapeMismatch);
  EXPECT_EQ(code_with([](DitCall& call) { call.text_states.shape[2] = 11; }),
            codes::kShapeMismatch);
  EXPECT_EQ(code_with([](DitCall& call) { call.output.dtype = DType::kBF16; }),
            codes::kShapeMismatch);
  EXPECT_EQ(code_with([](DitCall& call) { call.output.span.bytes -= 4; }), codes::kShapeMismatch);
}

}  // namespace
}  // namespace dlo::model
