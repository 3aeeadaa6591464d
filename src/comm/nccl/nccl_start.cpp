#include "comm/nccl/nccl_start.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/bytes.h"
#include "base/codes.h"
#include "base/error.h"
#include "comm/nccl/nccl_error.h"
#include "platform/cuda/cuda_error.h"
#include "platform/posix/thread_name.h"

namespace dlo::comm {

namespace {

constexpr Nanoseconds kPoll = kMillisecond;
// A short and a long message: NCCL connects by algorithm and protocol at their first use.
constexpr std::size_t kWarmUpBytes[] = {256, 4 * kMiB};

struct Start {
  NcclStartRequest request;
  std::atomic<bool> done{false};
  std::atomic<ncclComm_t> comm{nullptr};  // there from the end of initialisation on
  std::optional<Refusal> refusal;
};

void refuse_cuda(Start& start, cudaError_t status, const char* what) {
  start.refusal =
      refuse(codes::kCudaFailed,
             fmt::format("{}: {} ({})", what, cudaGetErrorName(status), static_cast<int>(status)),
             start.request.where, "see dlo doctor for the devices there are");
  static_cast<void>(cudaGetLastError());
}

// What a first collective needs; given back before the communicator is handed out.
struct WarmUp {
  cudaStream_t stream = nullptr;
  void* input = nullptr;
  void* output = nullptr;

  ~WarmUp() {
    static_cast<void>(cudaFree(input));
    static_cast<void>(cudaFree(output));
    if (stream != nullptr) {
      static_cast<void>(cudaStreamDestroy(stream));
    }
    static_cast<void>(cudaGetLastError());
  }
  [[nodiscard]] cudaError_t allocate(std::size_t bytes, int ranks) {
    auto status = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (status == cudaSuccess) {
      status = cudaMalloc(&input, bytes);
    }
    if (status == cudaSuccess) {
      status = cudaMalloc(&output, bytes * static_cast<std::size_t>(ranks));
    }
    return status;
  }
};

void warm_up(Start& start) {
  WarmUp memory;
  if (const auto status = memory.allocate(kWarmUpBytes[1], start.request.size);
      status != cudaSuccess) {
    refuse_cuda(start, status, "no memory for the first collective");
    return;
  }
  for (const auto bytes : kWarmUpBytes) {
    const auto status = ncclAllGather(memory.input, memory.output, bytes, ncclUint8,
                                      start.comm.load(), memory.stream);
    if (status != ncclSuccess) {
      start.refusal = nccl_refusal(status, start.comm.load(), "the first collective failed",
                                   start.request.where);
      return;
    }
    // On this thread, whose caller watches the deadline.
    if (const auto ended = cudaStreamSynchronize(memory.stream); ended != cudaSuccess) {
      refuse_cuda(start, ended, "the first collective failed");
      return;
    }
  }
}

void run(Start& start) {
  const auto& request = start.request;
  if (const auto status = cudaSetDevice(request.ordinal); status != cudaSuccess) {
    refuse_cuda(start, status, "the device cannot be used");
    return;
  }
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 1;
  if (request.shape.max_ctas > 0) {
    config.maxCTAs = request.shape.max_ctas;
  }
  if (request.shape.cluster_size >= 0) {
    config.cgaClusterSize = request.shape.cluster_size;
  }
  ncclComm_t comm = nullptr;
  const auto status =
      ncclCommInitRankConfig(&comm, request.size, request.id, request.rank, &config);
  if (status != ncclSuccess) {
    start.refusal = nccl_refusal(status, nullptr, "a communicator cannot be made", request.where);
    return;
  }
  start.comm.store(comm);
  warm_up(start);
}

}  // namespace

std::string nccl_id_text(const ncclUniqueId& id) {
  return std::string(id.internal, sizeof(id.internal));
}

ncclUniqueId nccl_id_from_text(const std::string& text) {
  ncclUniqueId id{};
  require(text.size() == sizeof(id.internal), "the text of an NCCL id has another length");
  std::memcpy(id.internal, text.data(), text.size());
  return id;
}

Result<ncclComm_t> start_nccl(const NcclStartRequest& request, platform::Clock& clock,
                              const FailureSignal& signal, Deadline deadline) {
  // Shared with the thread, which outlives this call when it is stuck.
  const auto start = std::make_shared<Start>();
  start->request = request;
  std::thread helper([start] {
    platform::name_this_thread("dlo-nccl-start");
    run(*start);
    start->done.store(true);
  });
  while (!start->done.load()) {
    const auto failure = signal.poll();
    if (failure || deadline.expired(clock.now())) {
      helper.detach();
      // Past initialisation there is a handle, and an abort ends the collective that waits.
      if (ncclComm_t made = start->comm.load(); made != nullptr) {
        end_within_bound(made, &ncclCommAbort);
      }
      return failure ? failure->refusal()
                     : refuse(codes::kDeadlineExceeded, "NCCL did not start in time", request.where,
                              "look for a rank that never came to this communicator");
    }
    clock.sleep(kPoll);
  }
  helper.join();
  if (start->refusal) {
    if (ncclComm_t made = start->comm.load(); made != nullptr) {
      end_within_bound(made, &ncclCommAbort);
    }
    return *start->refusal;
  }
  return start->comm.load();
}

}  // namespace dlo::comm
