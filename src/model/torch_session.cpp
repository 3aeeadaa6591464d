#include "model/torch_session.h"

#include <limits>

#include <ATen/Context.h>
#include <ATen/SDPBackend.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/empty.h>

#include "model/latent_ops.h"
#include "model/torch_task.h"
#include "model/torch_views.h"

namespace dlo::model {

namespace {

// Of the process; every session states the same.
void fix_arithmetic() {
  at::Context& context = at::globalContext();
  context.setAllowTF32CuBLAS(false);
  context.setAllowTF32CuDNN(false);
  // Partial sums of a BF16 product may be kept in BF16 where the product is split over K: torch's
  // default, which the compared runs have too. The choice hangs on shapes alone.
  context.setAllowBF16ReductionCuBLAS(true);
  context.setBenchmarkCuDNN(false);
  context.setDeterministicCuDNN(true);
}

template <typename Work>
void translated(Work work) {
  run_torch_task(platform::OpLabel{}, work);
}

}  // namespace

std::string_view fused_attention_kernel(const platform::Device& device, DType dtype) {
  std::int64_t choice = 0;
  translated([&] {
    const at::Tensor heads =
        at::empty({1, 1, 128, 128},
                  at::device(torch_device(compute_device(device))).dtype(scalar_type(dtype)));
    choice = at::_fused_sdp_choice(heads, heads, heads);
  });
  switch (static_cast<at::SDPBackend>(choice)) {
    case at::SDPBackend::flash_attention:
      return "flash";
    case at::SDPBackend::efficient_attention:
      return "efficient";
    case at::SDPBackend::cudnn_attention:
      return "cudnn";
    default:
      return "math";
  }
}

TorchSession::TorchSession(platform::Device& device, const TorchSessionOptions& options) {
  translated([&] {
    fix_arithmetic();
    const platform::NativeStream compute = device.native_stream(platform::StreamKind::kCompute);
    if (compute.present()) {
      accelerator_ = make_torch_accelerator(compute);
      accelerator_->refuse_synchronisation(options.stray_synchronisation ==
                                           StraySynchronisation::kIsAnError);
      accelerator_->activate();
    }
  });
  launch_set_compute_threads(device, options.compute_threads);
}

TorchSession::~TorchSession() {
  if (accelerator_ == nullptr) {
    return;
  }
  try {
    accelerator_->refuse_synchronisation(false);
    accelerator_->limit_memory(std::numeric_limits<std::uint64_t>::max());
  } catch (const c10::Error&) {
    // A device that failed answers nothing any more; its failure has been told.
  }
}

void TorchSession::activate() {
  if (accelerator_ != nullptr) {
    translated([this] { accelerator_->activate(); });
  }
}

void TorchSession::limit_memory(std::uint64_t bytes) {
  if (accelerator_ != nullptr) {
    translated([&] { accelerator_->limit_memory(bytes); });
  }
}

std::optional<TorchMemory> TorchSession::memory() const {
  if (accelerator_ == nullptr) {
    return std::nullopt;
  }
  TorchMemory memory;
  translated([&] { memory = accelerator_->memory(); });
  return memory;
}

void TorchSession::reset_peaks() {
  if (accelerator_ != nullptr) {
    translated([this] { accelerator_->reset_peaks(); });
  }
}

void TorchSession::release_workspaces() {
  if (accelerator_ != nullptr) {
    translated([this] { accelerator_->release_workspaces(); });
  }
}

void TorchSession::release_cached() {
  if (accelerator_ != nullptr) {
    translated([this] { accelerator_->release_cached(); });
  }
}

}  // namespace dlo::model
