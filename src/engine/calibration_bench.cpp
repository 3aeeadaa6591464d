#include "engine/calibration_bench.h"

#include <fmt/format.h>

#include <utility>

#include "backend/given_up_buffers.h"
#include "backend/stream_rest.h"
#include "base/codes.h"

namespace dlo::engine {

using platform::MemoryPurpose;
using platform::OpLabel;
using platform::Site;
using platform::StreamKind;

namespace {

// Not the hot path's sites: the ledger counts those.
const OpLabel kLabel{.site = Site::kPlacement};

}  // namespace

CalibrationBench::CalibrationBench(const CalibrationSeams& seams)
    : seams_(seams),
      from_(seams.device.create_time_mark()),
      to_(seams.device.create_time_mark()),
      landed_(seams.device.create_event()) {
  for (auto& end : ends_) {
    end = seams.device.create_event();
  }
}

Result<std::unique_ptr<CalibrationBench>> CalibrationBench::make(const CalibrationSeams& seams,
                                                                 std::uint64_t block_bytes,
                                                                 std::uint64_t piece_bytes) {
  std::unique_ptr<CalibrationBench> bench(new CalibrationBench(seams));
  bench->block_bytes_ = block_bytes;
  bench->piece_bytes_ = piece_bytes;
  auto host = seams.device.allocate_pinned(block_bytes, MemoryPurpose::kOther);
  if (!host.ok()) {
    return host.refusal();
  }
  bench->host_ = std::move(host).value();
  for (auto [buffer, bytes] :
       {std::pair(&bench->block_, block_bytes), std::pair(&bench->piece_, piece_bytes)}) {
    if (bytes == 0) {
      continue;
    }
    auto made = seams.device.allocate_device(bytes, MemoryPurpose::kOther);
    if (!made.ok()) {
      return made.refusal();
    }
    *buffer = std::move(made).value();
  }
  if (seams.weight_communicator != nullptr) {
    auto& group = *seams.weight_communicator;
    auto shared = group.share_inputs(seams.device, {bench->piece_->span()}, bench->deadline());
    if (shared.ok()) {
      shared = group.prepare_gathers({{bench->piece_->span(), bench->block_->span()}});
    }
    if (!shared.ok()) {
      return shared.refusal();
    }
  }
  return bench;
}

CalibrationBench::~CalibrationBench() {
  if (!rests_) {
    backend::give_up(std::move(piece_));
    backend::give_up(std::move(block_));
    backend::give_up(std::move(host_));
    return;
  }
  if (seams_.weight_communicator != nullptr && piece_ != nullptr) {
    seams_.weight_communicator->forget_inputs({piece_->span()}, deadline());
  }
}

void CalibrationBench::copy_block() {
  seams_.device.copy_to_device(StreamKind::kCopy, block_->span(), ConstByteSpan(host_->span()),
                               kLabel);
}

void CalibrationBench::copy_piece() {
  seams_.device.copy_to_device(StreamKind::kCopy, piece_->span(),
                               ConstByteSpan(host_->span()).subspan(0, piece_bytes_), kLabel);
  seams_.device.record(landed_, StreamKind::kCopy, kLabel);
}

void CalibrationBench::gather(bool behind_piece) {
  if (behind_piece) {
    seams_.device.wait(StreamKind::kComm, landed_, kLabel);
  }
  seams_.weight_communicator->all_gather(seams_.device, StreamKind::kComm, piece_->span(),
                                         block_->span(), kLabel);
}

Result<double> CalibrationBench::time_ms(StreamKind stream, const std::function<void()>& issue,
                                         Nanoseconds* host_ns) {
  seams_.device.mark_time(from_, stream);
  const Nanoseconds begin = seams_.device.clock().now();
  issue();
  if (host_ns != nullptr) {
    *host_ns = seams_.device.clock().now() - begin;
  }
  seams_.device.mark_time(to_, stream);
  if (auto status = finish(); !status.ok()) {
    return status.refusal();
  }
  const auto elapsed = seams_.device.elapsed(from_, to_);
  if (!elapsed) {
    return refuse(codes::kNotInThisProduct,
                  fmt::format("the {} platform keeps no time", seams_.device.kind()), "calibration",
                  "leave calibration out of the scenario");
  }
  return static_cast<double>(*elapsed) / static_cast<double>(kMillisecond);
}

Result<double> CalibrationBench::time_beside_ms(StreamKind stream,
                                                const std::function<void()>& beside,
                                                const std::function<void()>& issue,
                                                Nanoseconds* host_ns) {
  beside();
  return time_ms(stream, issue, host_ns);
}

Result<std::vector<std::string>> CalibrationBench::meet(std::string_view where,
                                                        std::string_view mine) {
  return seams_.control.exchange(where, mine, deadline());
}

Result<std::vector<double>> CalibrationBench::share(std::string_view where, double mine) {
  const auto texts = meet(where, fmt::format("{}", mine));
  if (!texts.ok()) {
    return texts.refusal();
  }
  std::vector<double> values;
  for (const auto& text : *texts) {
    values.push_back(std::stod(text));
  }
  return values;
}

Status CalibrationBench::finish() {
  Status status = seams_.device.synchronize(deadline());
  if (!status.ok()) {
    rests_ = come_to_rest();
  }
  return status;
}

// The buffers go next: nothing that is still queued may touch them.
bool CalibrationBench::come_to_rest() {
  const auto end_gathers = [this] {
    if (seams_.weight_communicator != nullptr) {
      seams_.weight_communicator->abort();
    }
  };
  return backend::await_rest(seams_.device, ends_, end_gathers, deadline());
}

Deadline CalibrationBench::deadline() const {
  return Deadline::after(seams_.device.clock().now(), seams_.timeout);
}

}  // namespace dlo::engine
