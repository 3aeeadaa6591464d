// Goal: a component comes to the device whole and bound, goes again and leaves nothing, and what is
// refused on the way leaves it as it was.
// Method: a block of three tensors on a device that writes down what it is asked; books.
#include "backend/device_component.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/codes.h"
#include "base/error.h"
#include "synthetic/synthetic_weights.h"
#include "tests/support/pointer_binding.h"
#include "tests/support/slow_tensors.h"
#include "tests/unit/hot_path/recording_device.h"

namespace dlo::backend {
namespace {

using platform::MemoryPurpose;

constexpr std::uint64_t kSeed = 3;

class Component : public testing::Test {
 protected:
  static contracts::ParameterTable table_of(contracts::BlockBinding& binding) {
    contracts::BlockSpec spec;
    spec.name = "text_encoder";
    const auto add = [&spec](const std::string& name, DType dtype, Shape shape) {
      auto& tensor = spec.tensors.emplace_back();
      tensor.name = "text_encoder." + name;
      tensor.dtype = dtype;
      tensor.shape = std::move(shape);
    };
    add("shared.weight", DType::kF32, {5, 3});
    add("empty", DType::kF32, {0, 3});
    add("norm.weight", DType::kBF16, {7});
    spec.binding = &binding;
    contracts::ParameterTable table;
    table.dits.push_back({.name = "text_encoder", .blocks = {}, .non_block = std::move(spec)});
    return table;
  }

  std::uint64_t copies() const {
    std::uint64_t count = 0;
    for (const auto& op : device_.log()) {
      count += op.kind == test::OpKind::kCopy ? 1 : 0;
    }
    return count;
  }

  std::uint64_t on_device() const {
    return device_.device_memory(MemoryPurpose::kComponent).now_bytes;
  }

  test::RecordingDevice device_;
  test::PointerBinding binding_;
  contracts::ParameterTable table_ = table_of(binding_);
  const contracts::BlockSpec& spec_ = table_.dits.front().non_block;
  synthetic::SyntheticTensors tensors_{table_, kSeed};
  DeviceComponent component_{device_, spec_, tensors_};
};

TEST_F(Component, Load_CopiesEveryTensorBooksItAndBinds) {
  EXPECT_EQ(on_device(), 0U);
  EXPECT_EQ(binding_.at, -1);
  ASSERT_TRUE(component_.load({}).ok());
  EXPECT_EQ(on_device(), component_.device_bytes());
  EXPECT_EQ(component_.device_bytes(), 2 * 256U);
  EXPECT_EQ(binding_.at, 0);
  std::uint64_t copied = 0;
  for (const auto& op : device_.log()) {
    EXPECT_EQ(op.label.site, platform::Site::kPlacement) << "no traffic of the hot path";
    copied += op.kind == test::OpKind::kCopy ? op.bytes : 0;
  }
  EXPECT_EQ(copied, 5 * 3 * 4 + 7 * 2U);
}

TEST_F(Component, LoadAndOffload_AreIdempotentAndLeaveNothing) {
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_TRUE(component_.offload({}).ok());
    ASSERT_TRUE(component_.load({}).ok());
    ASSERT_TRUE(component_.load({}).ok());
    EXPECT_EQ(on_device(), component_.device_bytes());
    ASSERT_TRUE(component_.offload({}).ok());
    EXPECT_EQ(on_device(), 0U);
    EXPECT_EQ(binding_.at, -1);
  }
  EXPECT_EQ(tensors_.held_bytes(), component_.host_bytes()) << "the master stays on the host";
}

TEST_F(Component, ReleasedHostTensors_AreGoneAndItStays) {
  ASSERT_TRUE(component_.load({}).ok());
  EXPECT_TRUE(component_.can_offload());
  component_.release_host();
  EXPECT_EQ(tensors_.held_bytes(), 0U);
  EXPECT_EQ(component_.host_bytes(), 0U);
  EXPECT_FALSE(component_.can_offload());
}

TEST_F(Component, HostTensorsOfOneThatIsNotThere_AreNotReleased) {
  EXPECT_THROW(component_.release_host(), LogicError);
}

TEST_F(Component, MemoryRefused_LeavesItAsItWasAndNamesIt) {
  device_.refuse_allocation(1);
  const auto status = component_.load({});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.refusal().code, codes::kDeviceOutOfMemory);
  EXPECT_EQ(status.refusal().where, "text_encoder");
  EXPECT_EQ(on_device(), 0U);
  EXPECT_EQ(binding_.at, -1);
  EXPECT_TRUE(component_.load({}).ok()) << "with memory again";
}

TEST_F(Component, CopyThatNeverLands_IsNeverBound) {
  device_.fail(refuse(codes::kCopyFailed, "broken", "device", "none"));
  const auto status = component_.load({});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.refusal().code, codes::kCopyFailed);
  EXPECT_EQ(binding_.at, -1);
  EXPECT_EQ(on_device(), component_.device_bytes()) << "copies may still run";
  EXPECT_THROW(static_cast<void>(component_.load({})), LogicError);
}

// Three looks check the tensors, the fourth and fifth copy those that are not empty.
TEST_F(Component, DeadlineBetweenTensors_CopiesNoFurtherAndGivesEverythingBack) {
  test::SlowTensors slow(tensors_, device_.clock(), kSecond);
  DeviceComponent component(device_, spec_, slow);
  const auto in = [&](Nanoseconds timeout) {
    device_.clear();
    return component.load(Deadline::after(device_.clock().now(), timeout));
  };
  for (const std::uint64_t allowed : {0U, 1U}) {
    const auto status = in(3 * kSecond + static_cast<Nanoseconds>(allowed));
    ASSERT_FALSE(status.ok()) << allowed;
    EXPECT_EQ(status.refusal().code, codes::kDeadlineExceeded);
    EXPECT_EQ(status.refusal().where,
              allowed == 0 ? "text_encoder.shared.weight" : "text_encoder.norm.weight");
    EXPECT_EQ(copies(), allowed);
    EXPECT_EQ(on_device(), 0U);
    EXPECT_EQ(binding_.at, -1);
  }
  EXPECT_TRUE(in(4 * kSecond + 1).ok()) << "with time again";
  EXPECT_EQ(copies(), 2U);
  EXPECT_EQ(binding_.at, 0);
}

TEST_F(Component, DeadlineWithACopyInFlight_KeepsTheBuffer) {
  test::SlowTensors slow(tensors_, device_.clock(), kSecond);
  DeviceComponent component(device_, spec_, slow);
  device_.hang();
  const auto status = component.load(Deadline::after(device_.clock().now(), 3 * kSecond + 1));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.refusal().code, codes::kDeadlineExceeded);
  EXPECT_EQ(copies(), 1U);
  EXPECT_EQ(on_device(), component.device_bytes());
  EXPECT_EQ(binding_.at, -1);
}

TEST_F(Component, DeviceThatFailsBeforeItGoes_KeepsIt) {
  ASSERT_TRUE(component_.load({}).ok());
  device_.fail(refuse(codes::kDeviceFailed, "broken", "device", "none"));
  EXPECT_FALSE(component_.offload({}).ok());
  EXPECT_EQ(on_device(), component_.device_bytes());
  EXPECT_EQ(binding_.at, 0);
}

TEST_F(Component, TensorOfAnotherShape_IsRefusedBeforeAnythingIsAllocated) {
  contracts::ParameterTable other = table_;
  other.dits.front().non_block.tensors.front().shape = {5, 4};
  DeviceComponent wrong(device_, other.dits.front().non_block, tensors_);
  EXPECT_EQ(wrong.load({}).refusal().code, codes::kShapeMismatch);
  EXPECT_EQ(on_device(), 0U);
}

}  // namespace
}  // namespace dlo::backend
