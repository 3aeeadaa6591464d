// Goal: a session states the settings that bytes hang on, keeps no books where torch keeps none,
// and refuses by name an accelerator that the build lacks. Method: an inline device; torch's own
// settings are read back after they were set otherwise.

#include <ATen/Context.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/codes.h"
#include "base/error.h"
#include "model/compute_device.h"
#include "model/torch_session.h"
#include "platform/forwarding_device.h"
#include "tests/support/inline_device.h"

namespace dlo::model {
namespace {

TEST(TorchSession, OnTheCpu_SetsThreadsAndFixesArithmetic) {
  at::globalContext().setBenchmarkCuDNN(true);
  test::InlineDevice device;
  TorchSession session(device, {.compute_threads = 1});
  session.activate();
  EXPECT_EQ(device.launched().size(), 1U);  // the number of threads, where the tasks run
  EXPECT_FALSE(at::globalContext().benchmarkCuDNN());
  EXPECT_TRUE(at::globalContext().deterministicCuDNN());
  EXPECT_FALSE(at::globalContext().allowTF32CuBLAS());
}

TEST(TorchSession, OnTheCpu_KeepsNoBooks) {
  test::InlineDevice device;
  TorchSession session(device, {});
  session.reset_peaks();
  session.limit_memory(1024);
  session.release_workspaces();
  session.release_cached();
  EXPECT_FALSE(session.memory().has_value());
}

TEST(TorchSession, OnTheCpu_FusedAttentionIsTorchsFlash) {
  const test::InlineDevice device;
  EXPECT_EQ(fused_attention_kernel(device, DType::kF32), "flash");
  EXPECT_EQ(fused_attention_kernel(device, DType::kBF16), "flash");
}

// A device that says it is the accelerator `ordinal`.
class NamedDevice final : public platform::ForwardingDevice {
 public:
  explicit NamedDevice(int ordinal)
      : ForwardingDevice(std::make_unique<test::InlineDevice>()), ordinal_(ordinal) {}
  [[nodiscard]] platform::NativeStream native_stream(platform::StreamKind) const override {
    return {ordinal_, nullptr};
  }

 private:
  int ordinal_;
};

TEST(ComputeDevice, OfAPlatformDevice_IsItsComputeStreams) {
  EXPECT_FALSE(compute_device(test::InlineDevice()).is_cuda());
  EXPECT_EQ(compute_device(NamedDevice(2)), ComputeDevice{2});
}

TEST(TorchSession, AcceleratorThatIsNotThere_IsRefusedByName) {
  NamedDevice device(77);
  try {
    const TorchSession session(device, {});
    FAIL() << "a session of accelerator 77 was made";
  } catch (const RunError& error) {
    // Without CUDA in the build; with it, torch finds no such device.
    EXPECT_TRUE(error.code() == codes::kAcceleratorMissing || error.code() == codes::kDeviceFailed)
        << error.what();
  }
}

}  // namespace
}  // namespace dlo::model
