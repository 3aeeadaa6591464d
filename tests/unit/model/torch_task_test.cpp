// Goal: an exception of torch inside a task of the model becomes the device's failure under a
// stable code, with one line of text. Method: tasks that throw what torch throws, on an inline
// device; one real operation of torch that refuses its operands.

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/codes.h"
#include "contracts/block_layout.h"
#include "model/block_sequence.h"
#include "model/torch_task.h"
#include "tests/support/inline_device.h"

namespace dlo::model {
namespace {

constexpr platform::OpLabel kLabel{.site = platform::Site::kCompute, .ring = 0, .block = 3};

template <typename Work>
Refusal refusal_of(Work work) {
  try {
    run_torch_task(kLabel, work);
  } catch (const RunError& error) {
    return error.refusal();
  }
  return {};
}

TEST(TorchTask, OutOfMemory_IsDeviceOutOfMemoryAtTheLabel) {
  const Refusal refusal = refusal_of([] {
    C10_THROW_ERROR(OutOfMemoryError, "CUDA out of memory. Tried to allocate 2.00 GiB.\nSee more");
  });
  EXPECT_EQ(refusal.code, codes::kDeviceOutOfMemory);
  EXPECT_EQ(refusal.what, "torch: CUDA out of memory. Tried to allocate 2.00 GiB.");
  EXPECT_EQ(refusal.where, platform::label_text(kLabel));
}

TEST(TorchTask, RefusedOperands_IsDeviceFailedWithTheFirstLine) {
  const Refusal refusal = refusal_of([] {
    static_cast<void>(at::matmul(at::empty({2, 3}), at::empty({2, 3})));
  });
  EXPECT_EQ(refusal.code, codes::kDeviceFailed);
  EXPECT_NE(refusal.what.find("mat1 and mat2"), std::string::npos) << refusal.what;
  EXPECT_EQ(refusal.what.find('\n'), std::string::npos) << refusal.what;
}

TEST(TorchTask, OtherExceptions_PassUnchanged) {
  EXPECT_THROW(run_torch_task(kLabel, [] { throw LogicError("ours"); }), LogicError);
  EXPECT_EQ(refusal_of([] { throw RunError(refuse(codes::kPeerFailed, "a", "b", "c")); }).code,
            codes::kPeerFailed);
}

// A ring of one block without tensors whose compute asks torch for the impossible.
class FailingCompute final : public BlockCompute {
 public:
  void compute_block(std::uint32_t, const BlockViews&, DitCall&) override {
    C10_THROW_ERROR(OutOfMemoryError, "no room");
  }
};

TEST(TorchTask, BlockThatRunsOutOfMemory_FailsTheDeviceByName) {
  contracts::BlockSpec block;
  block.name = "transformer.blocks.0";
  TorchBlockBinding binding(block);
  const contracts::BlockLayout layout(block);
  test::InlineDevice device;
  const auto memory = device.allocate_device(256, platform::MemoryPurpose::kSlot).value();
  binding.add_place(0, memory->span(), layout);
  binding.bind(0);
  FailingCompute compute;
  DitCall call;
  BlockSequence(0, {&binding}).run(device, compute, call);
  ASSERT_TRUE(device.failure().has_value());
  EXPECT_EQ(device.failure()->code, codes::kDeviceOutOfMemory);
  EXPECT_EQ(device.failure()->what, "torch: no room");
}

}  // namespace
}  // namespace dlo::model
