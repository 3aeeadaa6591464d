#include "comm/copy_engine/copy_engine_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "base/codes.h"
#include "base/error.h"
#include "base/thrown_refusal.h"
#include "platform/cuda/cuda_error.h"

namespace dlo::comm {

namespace {

using Flag = FlagPage::Flag;

// How one rank's input reaches the others: the allocation's handle and the place inside it.
struct InputRow {
  cudaIpcMemHandle_t handle{};
  std::uint64_t offset = 0;
};

// Past so many places chunks are small, and a launch saved is nothing beside what they cost: these
// are plain copies.
constexpr std::size_t kMostGraphs = 1024;

// Far ahead of every operation, and behind none of them cyclically.
constexpr std::uint32_t kReleaseAhead = 1U << 30U;

void check(cudaError_t status, const char* what, const std::string& where) {
  if (status != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    throw RunError(
        refuse(codes::kCudaFailed,
               fmt::format("{}: {} ({})", what, cudaGetErrorName(status), static_cast<int>(status)),
               where, "use platform.gather nccl"));
  }
}

}  // namespace

CopyEngineCommunicator::CopyEngineCommunicator(std::unique_ptr<ControlGroup> group,
                                               std::string where, FlagPage flags,
                                               StreamValues values)
    : group_(std::move(group)),
      where_(std::move(where)),
      flags_(std::move(flags)),
      values_(values),
      batch_(2 * static_cast<std::size_t>(group_->size() - 1)) {}

Result<std::unique_ptr<Communicator>> CopyEngineCommunicator::make(
    std::unique_ptr<ControlGroup> group, std::string where, const FailureSignal& signal,
    Deadline deadline) {
  const auto values = StreamValues::load();
  const Status mine = values.ok() ? Status{} : Status(values.refusal());
  if (auto agreed = vote(*group, "stream values", mine, deadline); !agreed.ok()) {
    return agreed.refusal();
  }
  auto flags = FlagPage::share(*group, deadline);
  if (!flags.ok()) {
    return flags.refusal();
  }
  std::unique_ptr<CopyEngineCommunicator> made(new CopyEngineCommunicator(
      std::move(group), std::move(where), std::move(flags).value(), *values));
  Status watched;
  try {
    made->watch_.emplace(signal, [self = made.get()] { self->release(); });
  } catch (...) {  // no thread to be had
    watched = thrown_refusal(std::current_exception(), made->where_);
  }
  if (auto agreed = vote(*made->group_, "release watch", watched, deadline); !agreed.ok()) {
    return agreed.refusal();
  }
  return std::unique_ptr<Communicator>(std::move(made));
}

CopyEngineCommunicator::~CopyEngineCommunicator() {
  watch_.reset();
  if (!shared_.empty()) {  // a stream may still be on its way through them
    static auto& kept = *new std::vector<std::pair<FlagPage, CopyGraphs>>;
    kept.emplace_back(std::move(flags_), std::move(graphs_));
  }
}

std::string CopyEngineCommunicator::describe(const std::vector<DeviceSpan>& inputs) const {
  std::string text(inputs.size() * sizeof(InputRow), '\0');
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    InputRow row;
    const auto start = values_.allocation_start(inputs[i].data);
    row.offset = reinterpret_cast<CUdeviceptr>(inputs[i].data) - start;
    check(cudaIpcGetMemHandle(&row.handle, inputs[i].data), "an input slot cannot be shared",
          where_);
    std::memcpy(text.data() + i * sizeof(InputRow), &row, sizeof(InputRow));
  }
  return text;
}

void CopyEngineCommunicator::open_peers(const std::vector<DeviceSpan>& inputs,
                                        const std::vector<std::string>& texts) {
  const auto ranks = static_cast<std::size_t>(size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto& shared = shared_.emplace_back(
        Shared{inputs[i], std::vector<void*>(ranks), std::vector<const std::byte*>(ranks)});
    for (std::size_t peer = 0; peer < ranks; ++peer) {
      if (peer == static_cast<std::size_t>(rank())) {
        shared.pieces[peer] = inputs[i].data;
        continue;
      }
      require(texts[peer].size() == inputs.size() * sizeof(InputRow),
              "a peer shares another number of inputs");
      InputRow row;
      std::memcpy(&row, texts[peer].data() + i * sizeof(InputRow), sizeof(InputRow));
      check(cudaIpcOpenMemHandle(&shared.mapped[peer], row.handle, cudaIpcMemLazyEnablePeerAccess),
            "a peer's input slot cannot be opened", where_);
      shared.pieces[peer] = static_cast<const std::byte*>(shared.mapped[peer]) + row.offset;
    }
  }
}

Status CopyEngineCommunicator::share_inputs(platform::Device& /*device*/,
                                            const std::vector<DeviceSpan>& inputs,
                                            Deadline deadline) {
  std::string mine;
  Status status;
  try {
    mine = describe(inputs);
  } catch (...) {
    status = thrown_refusal(std::current_exception(), where_);
  }
  if (auto agreed = vote(*group_, "inputs described", status, deadline); !agreed.ok()) {
    return agreed;
  }
  const auto texts = group_->exchange("inputs", mine, deadline);
  if (!texts.ok()) {
    return texts.refusal();
  }
  try {
    open_peers(inputs, *texts);
  } catch (...) {
    close_mappings(inputs);
    status = thrown_refusal(std::current_exception(), where_);
  }
  return status;
}

void CopyEngineCommunicator::forget_inputs(const std::vector<DeviceSpan>& inputs,
                                           Deadline deadline) noexcept {
  if (close_mappings(inputs) == 0 || aborted_) {
    return;
  }
  // CUDA leaves open what becomes of memory that is freed while another process has it open.
  try {
    static_cast<void>(group_->exchange("inputs forgotten", "", deadline));
  } catch (const std::exception&) {
    // The exchange is a courtesy to peers that live; without it nothing is lost here.
  }
}

std::size_t CopyEngineCommunicator::close_mappings(const std::vector<DeviceSpan>& inputs) noexcept {
  std::size_t closed = 0;
  for (const auto& input : inputs) {
    graphs_.forget(input);
    const auto found = std::find_if(shared_.begin(), shared_.end(), [&](const Shared& shared) {
      return shared.mine.data == input.data;
    });
    if (found == shared_.end()) {
      continue;
    }
    for (void* mapped : found->mapped) {
      if (mapped != nullptr && cudaIpcCloseMemHandle(mapped) != cudaSuccess) {
        static_cast<void>(cudaGetLastError());
      }
    }
    shared_.erase(found);
    ++closed;
  }
  return closed;
}

const CopyEngineCommunicator::Shared& CopyEngineCommunicator::find(DeviceSpan input) const {
  const auto holds = [&input](const Shared& shared) {
    return shared.mine.data <= input.data &&
           input.data + input.bytes <= shared.mine.data + shared.mine.bytes;
  };
  const auto found = std::find_if(shared_.begin(), shared_.end(), holds);
  require(found != shared_.end(), "all_gather: the input was not shared with the peers");
  return *found;
}

void CopyEngineCommunicator::all_gather(platform::Device& device, platform::StreamKind stream,
                                        DeviceSpan input, DeviceSpan output,
                                        const platform::OpLabel& label) {
  require(output.bytes == static_cast<std::uint64_t>(size()) * input.bytes,
          "all_gather: the output must hold exactly one input a rank");
  const auto native = device.native_stream(stream);
  require(native.present(), "copy engines gather device memory of the CUDA platform");
  device.launch(
      stream, [this, native, input, output] { gather_now(native, input, output); }, label);
}

void CopyEngineCommunicator::gather_now(const platform::NativeStream& native, DeviceSpan input,
                                        DeviceSpan output) {
  if (aborted_) {
    throw RunError(refuse(codes::kCollectiveFailed, "the communicator was aborted", where_,
                          "see the log of this rank"));
  }
  auto* const stream = static_cast<cudaStream_t>(native.handle);
  constexpr const char* kPull = "a piece cannot be pulled";
  const Shared& shared = find(input);
  const std::uint32_t number = ++sequence_;
  meet(native, Flag::kLanded, number);
  if (auto* const graph = graphs_.find(own_copy(input, output), input.bytes)) {
    check(cudaGraphLaunch(graph, stream), kPull, where_);
  } else {
    for (int step = 0; step < size(); ++step) {
      const auto copy = copy_of(shared, input, output, step);
      check(
          cudaMemcpyAsync(copy.target, copy.source, input.bytes, cudaMemcpyDeviceToDevice, stream),
          kPull, where_);
    }
  }
  meet(native, Flag::kTaken, number);
}

PieceCopy CopyEngineCommunicator::own_copy(DeviceSpan input, DeviceSpan output) const {
  return {output.data + static_cast<std::uint64_t>(rank()) * input.bytes, input.data};
}

PieceCopy CopyEngineCommunicator::copy_of(const Shared& shared, DeviceSpan input, DeviceSpan output,
                                          int step) const {
  const auto from = static_cast<std::size_t>((rank() + step) % size());
  return {output.data + from * input.bytes, shared.pieces[from] + (input.data - shared.mine.data)};
}

Status CopyEngineCommunicator::prepare_gathers(const std::vector<PieceGather>& gathers) {
  if (gathers.size() > kMostGraphs) {
    return {};
  }
  try {
    std::vector<PieceCopy> copies;
    for (const auto& [input, output] : gathers) {
      if (graphs_.find(own_copy(input, output), input.bytes) != nullptr) {
        continue;
      }
      const Shared& shared = find(input);
      copies.clear();
      for (int step = 0; step < size(); ++step) {
        copies.push_back(copy_of(shared, input, output, step));
      }
      check(graphs_.add(copies, input.bytes), "a gather's copies cannot be prepared", where_);
    }
  } catch (...) {
    return thrown_refusal(std::current_exception(), where_);
  }
  return {};
}

void CopyEngineCommunicator::meet(const platform::NativeStream& native, Flag flag,
                                  std::uint32_t number) {
  const int me = rank();
  for (int peer = 0; peer < size(); ++peer) {
    if (peer != me) {
      batch_.write(flags_.address(peer, me, flag), number);
    }
  }
  for (int peer = 0; peer < size(); ++peer) {
    if (peer != me) {
      batch_.wait(flags_.address(me, peer, flag), number);
    }
  }
  values_.enqueue(static_cast<cudaStream_t>(native.handle), batch_);
}

void CopyEngineCommunicator::abort() noexcept {
  aborted_ = true;
  release();
  watch_->release_now();
}

void CopyEngineCommunicator::release() noexcept {
  flags_.release(rank(), sequence_.load() + kReleaseAhead);
}

}  // namespace dlo::comm
