// Goal: a GPU computes what the CPU computes, in both arithmetics and by both attention backends,
// never waits for itself meanwhile, gives the same bytes again, and its torch runs on the
// platform's stream within the cap. Method: a tiny Wan model with heads of 128 channels; the same
// weights and operands on the CPU are the reference, and a watch in torch throws at a stray
// synchronisation.

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <iostream>
#include <memory>
#include <vector>

#include "base/codes.h"
#include "base/error.h"
#include "contracts/block_layout.h"
#include "model/gemm_probe.h"
#include "model/layers.h"
#include "model/torch_session.h"
#include "model/torch_task.h"
#include "platform/cuda/cuda_device.h"
#include "platform/cuda/cuda_inventory.h"
#include "platform/posix/steady_clock.h"
#include "tests/gpu/model/relative_error.h"
#include "tests/support/inline_device.h"
#include "tests/support/resident_weights.h"
#include "tests/unit/model/tiny_wan.h"

namespace dlo::model {
namespace {

using platform::MemoryPurpose;
using platform::StreamKind;
using test::relative_error;
using Bytes = std::vector<std::byte>;

constexpr std::int64_t kBlocks = 3;

ModelOptions options_of(DType arithmetic, AttentionBackend attention) {
  ModelOptions options;
  options.runtime_dtype = arithmetic;
  options.compute_dtype = arithmetic;
  options.attention = attention;
  return options;
}

std::unique_ptr<DitModel> make_model(const ModelOptions& options) {
  nlohmann::json config = test::tiny_wan_config(kBlocks);
  config["attention_head_dim"] = 128;
  return make_wan(config, options).value();
}

Bytes cpu_output(const ModelOptions& options) {
  test::InlineDevice device;
  const auto model = make_model(options);
  const test::ResidentWeights weights(device, model->spec(), test::seeded_values(1));
  test::TinyWanCall operands(device, 2);
  model->forward(device, operands.call());
  return operands.output_bytes();
}

class GpuModel : public testing::Test {
 protected:
  void SetUp() override {
    if (platform::cuda_device_count() == 0) {
      GTEST_SKIP() << "no CUDA device can be used on this machine";
    }
    device_ = platform::make_cuda_device({}, clock_, *signal_);
    session_ = std::make_unique<TorchSession>(
        *device_, TorchSessionOptions{.stray_synchronisation = StraySynchronisation::kIsAnError});
  }
  void TearDown() override {
    // Views go before the memory that they alias, memory and session before the device.
    model_.reset();
    buffers_.clear();
    session_.reset();
    device_.reset();
  }

  DeviceSpan upload(ConstByteSpan bytes) {
    auto host = device_->allocate_pinned(bytes.size(), MemoryPurpose::kOther).value();
    std::memcpy(host->span().data(), bytes.data(), bytes.size());
    buffers_.push_back(device_->allocate_device(bytes.size(), MemoryPurpose::kOther).value());
    device_->copy_to_device(StreamKind::kCompute, buffers_.back()->span(), host->span(), {});
    finish();
    return buffers_.back()->span();
  }
  void place(const contracts::BlockSpec& block) {
    const contracts::BlockLayout layout(block);
    Bytes bytes(layout.bytes());
    for (const auto& entry : layout.entries()) {
      test::seeded_values(1)(block.tensors[entry.tensor_index],
                             {bytes.data() + entry.offset_bytes, entry.span_bytes});
    }
    block.binding->add_place(0, upload(bytes), layout);
    block.binding->bind(0);
  }
  void place_model(ModelOptions options) {
    options.device = compute_device(*device_);
    model_ = make_model(options);
    for (const auto& block : model_->spec().blocks) {
      place(block);
    }
    place(model_->spec().non_block);
    test::InlineDevice cpu;
    test::TinyWanCall operands(cpu, 2);
    const auto moved = [&](DeviceTensor tensor) {
      tensor.span = upload({tensor.span.data, tensor.span.bytes});
      return tensor;
    };
    call_ = {moved(operands.call().latents), moved(operands.call().timestep),
             moved(operands.call().text_states), moved(operands.call().output)};
  }
  Bytes output() {
    model_->forward(*device_, call_);
    const auto host =
        device_->allocate_pinned(call_.output.span.bytes, MemoryPurpose::kOther).value();
    device_->copy_to_host(StreamKind::kCompute, host->span(), call_.output.span, {});
    finish();
    return {host->span().begin(), host->span().end()};
  }
  void finish() {
    const auto status = device_->synchronize(Deadline::after(clock_.now(), 60 * kSecond));
    ASSERT_TRUE(status.ok()) << status.refusal().message();
  }

  platform::SteadyClock clock_;
  std::unique_ptr<FailureSignal> signal_ = make_local_failure_signal();
  std::unique_ptr<platform::Device> device_;
  std::unique_ptr<TorchSession> session_;
  std::vector<std::unique_ptr<platform::DeviceBuffer>> buffers_;
  std::unique_ptr<DitModel> model_;
  DitCall call_;
};

TEST_F(GpuModel, Forward_IsTheCpusWithinRoundingAndItsOwnBytesAgain) {
  for (const DType arithmetic : {DType::kF32, DType::kBF16}) {
    for (const auto attention : {AttentionBackend::kPlain, AttentionBackend::kFused}) {
      const auto options = options_of(arithmetic, attention);
      place_model(options);
      const Bytes first = output();
      // fp32 sums in another order; in BF16 each lands on one of two neighbours.
      EXPECT_LE(relative_error(first, cpu_output(options)),
                arithmetic == DType::kF32 ? 1e-4 : 0.02);
      EXPECT_EQ(output(), first);
      model_.reset();
      buffers_.clear();
    }
  }
}

TEST_F(GpuModel, FusedAttentionInBf16_RunsByAFusedKernelAlone) {
  const std::string_view kernel = fused_attention_kernel(*device_, DType::kBF16);
  std::cout << "fused attention in BF16: " << kernel << "\n";
  EXPECT_TRUE(kernel == "cudnn" || kernel == "flash");
  const auto options = options_of(DType::kBF16, AttentionBackend::kFused);
  const Bytes expected = cpu_output(options);
  place_model(options);
  at::globalContext().setSDPUseMath(false);
  at::globalContext().setSDPUseMemEfficient(false);
  EXPECT_LE(relative_error(output(), expected), 0.02);
  at::globalContext().setSDPUseMath(true);
  at::globalContext().setSDPUseMemEfficient(true);
}

TEST_F(GpuModel, OperationThatWaits_FailsTheDeviceByName) {
  const at::Device gpu(at::kCUDA, 0);
  device_->launch(
      StreamKind::kCompute,
      [gpu] {
        run_torch_task({}, [&] {
          static_cast<void>(at::empty({1}, at::device(gpu).dtype(at::kFloat)).item<float>());
        });
      },
      {});
  ASSERT_TRUE(device_->failure().has_value());
  EXPECT_EQ(device_->failure()->code, codes::kDeviceFailed);
}

TEST_F(GpuModel, AboveTheCap_IsOutOfMemoryAndLeavesTheBooks) {
  session_->release_cached();
  session_->reset_peaks();
  session_->limit_memory(session_->memory()->reserved.now_bytes + 64 * kMiB);
  const auto reserve = [](std::int64_t bytes) {
    run_torch_task({}, [bytes] {
      static_cast<void>(at::empty({bytes}, at::device(at::Device(at::kCUDA, 0)).dtype(at::kByte)));
    });
  };
  reserve(32 << 20);
  EXPECT_GE(session_->memory()->reserved.peak_bytes, 32 * kMiB);
  try {
    reserve(256 << 20);
    FAIL() << "torch reserved more than its cap";
  } catch (const RunError& error) {
    EXPECT_EQ(error.code(), codes::kDeviceOutOfMemory) << error.what();
  }
  EXPECT_LT(session_->memory()->reserved.peak_bytes, 256 * kMiB);
}

// A run that fails gives no memory back, for that may wait; its workspace must not stay in the
// books, or the next run's limit holds one more.
TEST_F(GpuModel, WorkspaceOfAFailedRun_LeavesTheBooksAndRoomForTheNextOne) {
  session_->release_cached();
  const auto before = session_->memory()->allocated.now_bytes;
  const auto probe = make_gemm_probe(*device_, 512, DType::kF32).value();
  probe->launch(1);
  finish();
  ASSERT_GT(session_->memory()->allocated.now_bytes, before) << "no workspace to release";
  session_->release_workspaces();
  EXPECT_EQ(session_->memory()->allocated.now_bytes, before);
}

TEST_F(GpuModel, GemmProbe_RunsInBothDtypes) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const auto probe = make_gemm_probe(*device_, 512, dtype).value();
    probe->launch(3);
    finish();
    EXPECT_FALSE(device_->failure().has_value());
  }
}

}  // namespace
}  // namespace dlo::model
