// Goal: a block's binding points at bytes and nothing else: views alias the announced place,
// binding is a choice among them, and a placeholder is a named error. Method: a block of three
// tensors over buffers of an inline device.

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/codes.h"
#include "contracts/block_layout.h"
#include "model/torch_binding.h"
#include "model/torch_views.h"
#include "tests/support/inline_device.h"

namespace dlo::model {
namespace {

contracts::TensorSpec tensor(const std::string& name, DType dtype, Shape shape) {
  contracts::TensorSpec spec;
  spec.name = name;
  spec.dtype = dtype;
  spec.shape = std::move(shape);
  return spec;
}

contracts::BlockSpec three_tensors() {
  contracts::BlockSpec block;
  block.name = "transformer.blocks.4";
  block.tensors = {tensor("a", DType::kF32, {3, 5}), tensor("b", DType::kBF16, {7}),
                   tensor("c", DType::kF32, {2, 3})};
  block.tensors[2].strides = {1, 2};  // column-major
  return block;
}

class TorchBinding : public testing::Test {
 protected:
  TorchBinding() {
    for (auto& place : places_) {
      place = device_.allocate_device(layout_.bytes(), platform::MemoryPurpose::kSlot).value();
    }
  }
  void announce_both() {
    binding_.add_place(0, places_[0]->span(), layout_);
    binding_.add_place(1, places_[1]->span(), layout_);
  }
  [[nodiscard]] const void* bound_address(std::size_t index) const {
    return binding_.current()->tensors[index].const_data_ptr();
  }
  [[nodiscard]] const void* slot_address(std::size_t place, std::size_t index) const {
    return places_[place]->span().data + layout_.entries()[index].offset_bytes;
  }

  contracts::BlockSpec block_ = three_tensors();
  contracts::BlockLayout layout_{block_};
  test::InlineDevice device_;
  std::unique_ptr<platform::DeviceBuffer> places_[2];
  TorchBlockBinding binding_{block_};
};

TEST_F(TorchBinding, Bind_ViewsAliasThePlaceByte) {
  announce_both();
  for (const std::uint32_t place : {0U, 1U, 0U}) {
    binding_.bind(place);
    for (std::size_t index = 0; index < block_.tensors.size(); ++index) {
      EXPECT_EQ(bound_address(index), slot_address(place, index));
    }
  }
}

TEST_F(TorchBinding, Bind_ViewsHaveDtypeShapeAndStrideOfTheSpec) {
  announce_both();
  binding_.bind(0);
  const BlockViewsRef views = binding_.current();
  EXPECT_EQ(views->tensors[0].sizes().vec(), (Shape{3, 5}));
  EXPECT_EQ(views->tensors[0].scalar_type(), at::kFloat);
  EXPECT_EQ(views->tensors[1].scalar_type(), at::kBFloat16);
  EXPECT_EQ(views->tensors[2].strides().vec(), (std::vector<std::int64_t>{1, 2}));
}

TEST_F(TorchBinding, BindTwice_IsOneAssignmentOfTheSameViews) {
  announce_both();
  binding_.bind(1);
  const BlockViewsRef first = binding_.current();
  binding_.bind(0);
  binding_.bind(1);
  EXPECT_EQ(binding_.current(), first);  // the same object: nothing is made on the hot path
}

TEST_F(TorchBinding, BytesWrittenIntoThePlace_AreSeenThroughTheView) {
  announce_both();
  binding_.bind(0);
  const float value = 2.5F;
  std::memcpy(places_[0]->span().data + 4 * sizeof(float), &value, sizeof(value));
  EXPECT_EQ(binding_.current()->tensors[0].const_data_ptr<float>()[4], 2.5F);
}

void expect_placeholder(const TorchBlockBinding& binding) {
  try {
    static_cast<void>(binding.current());
    FAIL() << "a placeholder was read";
  } catch (const RunError& error) {
    EXPECT_EQ(error.code(), codes::kPlaceholderRead);
    EXPECT_EQ(error.refusal().where, "transformer.blocks.4");
  }
}

TEST_F(TorchBinding, Placeholder_ReadIsANamedError) {
  expect_placeholder(binding_);
  announce_both();
  expect_placeholder(binding_);
  binding_.bind(0);
  binding_.bind_placeholder();
  expect_placeholder(binding_);
}

TEST_F(TorchBinding, ForgetPlaces_LeavesCapturedViewsAndAcceptsNewPlaces) {
  announce_both();
  binding_.bind(1);
  const BlockViewsRef captured = binding_.current();
  binding_.forget_places();
  binding_.forget_places();
  expect_placeholder(binding_);
  EXPECT_EQ(captured->tensors[0].const_data_ptr(), slot_address(1, 0));
  announce_both();
  binding_.bind(0);
  EXPECT_EQ(bound_address(0), slot_address(0, 0));
}

TEST_F(TorchBinding, WrongPlace_Throws) {
  EXPECT_THROW(binding_.add_place(1, places_[0]->span(), layout_), LogicError);
  EXPECT_THROW(binding_.add_place(0, places_[0]->span().subspan(0, 256), layout_), LogicError);
  const DeviceSpan shifted{places_[0]->span().data + 64, layout_.bytes()};
  EXPECT_THROW(binding_.add_place(0, shifted, layout_), LogicError);
}

}  // namespace
}  // namespace dlo::model
