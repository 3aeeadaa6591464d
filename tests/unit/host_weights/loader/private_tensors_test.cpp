// Goal: each tensor has its own memory, counted by the device's books and given back by release().
// Method: the CPU device; its ledger is the witness.
#include "host_weights/private_tensors.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/failure_signal.h"
#include "platform/cpu/cpu_device.h"
#include "platform/posix/steady_clock.h"

namespace dlo::host_weights {
namespace {

class PrivateTensorsTest : public testing::Test {
 protected:
  platform::SteadyClock clock_;
  std::unique_ptr<FailureSignal> signal_ = make_local_failure_signal();
  std::unique_ptr<platform::Device> device_ = platform::make_cpu_device({}, clock_, *signal_);
  PrivateTensors tensors_{*device_};
};

TEST_F(PrivateTensorsTest, ReservedTensor_IsZeroedAndCounted) {
  const auto span = tensors_.reserve("a", DType::kBF16, {3, 5});
  ASSERT_TRUE(span.ok());
  EXPECT_EQ(span->size(), 30U);
  EXPECT_EQ((*span)[29], std::byte{0});
  EXPECT_EQ(tensors_.held_bytes(), 30U);
  EXPECT_EQ(device_->pageable_memory().now_bytes, 30U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(span->data()) % kTensorAlignmentBytes, 0U);
}

TEST_F(PrivateTensorsTest, Release_GivesOneTensorBackAndIsIdempotent) {
  ASSERT_TRUE(tensors_.reserve("a", DType::kF32, {2}).ok());
  ASSERT_TRUE(tensors_.reserve("b", DType::kF32, {3}).ok());
  tensors_.release("a");
  tensors_.release("a");
  EXPECT_EQ(tensors_.held_bytes(), 12U);
  EXPECT_EQ(device_->pageable_memory().now_bytes, 12U);
  EXPECT_EQ(tensors_.view("b").shape, Shape{3});
}

TEST_F(PrivateTensorsTest, UnknownOrReleasedName_IsAProgrammerError) {
  EXPECT_THROW(static_cast<void>(tensors_.view("a")), LogicError);
  ASSERT_TRUE(tensors_.reserve("a", DType::kF32, {2}).ok());
  tensors_.release("a");
  EXPECT_THROW(static_cast<void>(tensors_.view("a")), LogicError);
}

TEST_F(PrivateTensorsTest, EmptyAndScalarTensors_AreHeld) {
  ASSERT_TRUE(tensors_.reserve("empty", DType::kF32, {0, 4}).ok());
  ASSERT_TRUE(tensors_.reserve("scalar", DType::kF32, {}).ok());
  EXPECT_EQ(tensors_.view("empty").bytes.size(), 0U);
  EXPECT_EQ(tensors_.view("scalar").bytes.size(), 4U);
  EXPECT_EQ(tensors_.held_bytes(), 4U);
}

TEST_F(PrivateTensorsTest, NameReservedTwice_IsAProgrammerError) {
  ASSERT_TRUE(tensors_.reserve("a", DType::kF32, {2}).ok());
  EXPECT_THROW(static_cast<void>(tensors_.reserve("a", DType::kF32, {2})), LogicError);
}

}  // namespace
}  // namespace dlo::host_weights
