#include "model/gemm_probe.h"

#include <ATen/ops/mm.h>

#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "model/torch_task.h"
#include "model/torch_views.h"

namespace dlo::model {

namespace {

using platform::OpLabel;
using platform::Site;
using platform::StreamKind;

const OpLabel kProbeLabel{.site = Site::kModel};

class TorchGemmProbe final : public GemmProbe {
 public:
  TorchGemmProbe(platform::Device& device,
                 std::vector<std::unique_ptr<platform::DeviceBuffer>> buffers, std::int64_t n,
                 DType dtype)
      : device_(device), buffers_(std::move(buffers)) {
    for (const auto& buffer : buffers_) {
      matrices_.push_back(
          as_torch(DeviceTensor{buffer->span(), dtype, {n, n}}, compute_device(device)));
    }
    device_.launch(
        StreamKind::kCompute,
        [a = matrices_[0], b = matrices_[1]] {
          run_torch_task(kProbeLabel, [&] {
            a.normal_();
            b.normal_();
          });
        },
        kProbeLabel);
  }

  void launch(int count) override {
    device_.launch(
        StreamKind::kCompute,
        [a = matrices_[0], b = matrices_[1], c = matrices_[2], count]() mutable {
          run_torch_task(kProbeLabel, [&] {
            for (int i = 0; i < count; ++i) {
              at::mm_out(c, a, b);
            }
          });
        },
        kProbeLabel);
  }

 private:
  platform::Device& device_;
  std::vector<std::unique_ptr<platform::DeviceBuffer>> buffers_;
  std::vector<at::Tensor> matrices_;
};

}  // namespace

Result<std::unique_ptr<GemmProbe>> make_gemm_probe(platform::Device& device, std::int64_t n,
                                                   DType dtype) {
  require(n >= 1 && (dtype == DType::kF32 || dtype == DType::kBF16),
          "a GEMM probe wants a size and F32 or BF16");
  const auto bytes = tensor_bytes({n, n}, dtype);
  require(bytes.has_value(), "a GEMM probe of this size overflows");
  std::vector<std::unique_ptr<platform::DeviceBuffer>> buffers;
  for (int i = 0; i < 3; ++i) {
    auto buffer = device.allocate_device(*bytes, platform::MemoryPurpose::kOther);
    if (!buffer.ok()) {
      return buffer.refusal();
    }
    buffers.push_back(std::move(buffer).value());
  }
  return std::unique_ptr<GemmProbe>(
      std::make_unique<TorchGemmProbe>(device, std::move(buffers), n, dtype));
}

}  // namespace dlo::model
