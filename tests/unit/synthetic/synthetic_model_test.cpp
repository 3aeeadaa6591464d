// Goal: the synthetic model is an oracle worth trusting: it accepts right bytes, sees one wrong
// bit wherever a tensor has it, ignores bytes that belong to no tensor, and notices order.
// Method: blocks placed by hand on a recording device.
#include "synthetic/synthetic_model.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "contracts/block_layout.h"
#include "synthetic/synthetic_weights.h"
#include "tests/unit/hot_path/recording_device.h"

namespace dlo::synthetic {
namespace {

// One ring whose blocks lie where the test can change their bytes.
class PlacedModel {
 public:
  explicit PlacedModel(const SyntheticShape& shape) : model(shape) {
    const auto& dit = model.table().dits.front();
    layouts.reserve(dit.blocks.size() + 1);
    for (const auto& block : dit.blocks) {
      place(block);
    }
    place(dit.non_block);
  }

  void place(const contracts::BlockSpec& block) {
    const auto& layout = layouts.emplace_back(block);
    auto& memory = bytes.emplace_back(layout.bytes());
    for (const auto& entry : layout.entries()) {
      const auto& spec = block.tensors[entry.tensor_index];
      const auto content = tensor_content(model.seed(), spec);
      ASSERT_EQ(content.size(), entry.span_bytes) << "this fixture takes contiguous tensors";
      std::memcpy(memory.data() + entry.offset_bytes, content.data(), content.size());
    }
    block.binding->add_place(0, DeviceSpan{memory.data(), memory.size()}, layout);
    block.binding->bind(0);
  }

  SyntheticModel model;
  std::vector<contracts::BlockLayout> layouts;
  std::vector<std::vector<std::byte>> bytes;
  test::RecordingDevice device;
};

TEST(SyntheticModel, RightBytes_AreCleanAndCounted) {
  PlacedModel placed(uniform_shape(1, 3, 100));
  placed.model.run(placed.device, 0, nullptr);
  EXPECT_TRUE(placed.model.findings().clean());
  EXPECT_EQ(placed.model.findings().computed_blocks, 4U) << "three blocks and the children";
}

TEST(SyntheticModel, OneWrongBitAnywhereInATensor_IsFound) {
  for (const std::size_t at : {0U, 1U, 50U, 99U}) {
    PlacedModel placed(uniform_shape(1, 3, 100));
    placed.bytes[2][at] ^= std::byte{1};
    placed.model.run(placed.device, 0, nullptr);
    EXPECT_EQ(placed.model.findings().wrong_tensors, 1U) << "byte " << at;
    EXPECT_NE(placed.model.findings().first.find("ring0.blocks.2.0"), std::string::npos);
  }
}

TEST(SyntheticModel, PadBytes_BelongToNoTensor) {
  PlacedModel placed(uniform_shape(1, 3, 100));
  placed.bytes[2][100] ^= std::byte{1};
  placed.model.run(placed.device, 0, nullptr);
  EXPECT_TRUE(placed.model.findings().clean());
}

TEST(SyntheticModel, OtherOrder_HasAnotherDigest) {
  PlacedModel forward(uniform_shape(1, 3, 100));
  PlacedModel backward(uniform_shape(1, 3, 100));
  const std::vector<std::uint32_t> order = {2, 1, 0};
  forward.model.run(forward.device, 0, nullptr);
  backward.model.run_order(backward.device, 0, nullptr, order);
  EXPECT_NE(forward.model.digest(), backward.model.digest());
}

TEST(SyntheticModel, BlockAtItsPlaceholder_Throws) {
  SyntheticModel model(uniform_shape(1, 2, 16));
  test::RecordingDevice device;
  EXPECT_TRUE(model.untouched());
  EXPECT_THROW(model.run(device, 0, nullptr), RunError);
}

TEST(SyntheticTensors, ReleasedName_IsGoneForGood) {
  const SyntheticModel model(uniform_shape(1, 2, 16));
  SyntheticTensors tensors(model.table(), model.seed());
  EXPECT_EQ(tensors.held_bytes(), 32U);
  EXPECT_EQ(tensors.view("ring0.blocks.0.0").bytes.size(), 16U);
  tensors.release("ring0.blocks.0.0");
  tensors.release("ring0.blocks.0.0");
  EXPECT_EQ(tensors.held_bytes(), 16U);
  EXPECT_THROW(static_cast<void>(tensors.view("ring0.blocks.0.0")), LogicError);
}

TEST(DrawShape, SameSeed_GivesTheSameRingsAndAllKindsOfTensors) {
  const auto first = draw_shape(3, {9, 9});
  const auto second = draw_shape(3, {9, 9});
  bool strided = false;
  bool empty = false;
  for (std::size_t r = 0; r < first.rings.size(); ++r) {
    for (std::size_t b = 0; b < first.rings[r].blocks.size(); ++b) {
      const auto& block = first.rings[r].blocks[b];
      ASSERT_EQ(block.size(), second.rings[r].blocks[b].size());
      for (std::size_t t = 0; t < block.size(); ++t) {
        EXPECT_EQ(block[t].shape, second.rings[r].blocks[b][t].shape);
        strided = strided || !block[t].strides.empty();
        empty = empty || element_count(block[t].shape) == 0U;
      }
    }
  }
  EXPECT_TRUE(strided && empty);
}

}  // namespace
}  // namespace dlo::synthetic
