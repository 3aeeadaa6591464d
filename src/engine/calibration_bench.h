// Owns: CalibrationBench, the buffers, marks and turns that every calibration measurement on one
// device uses: a block in pinned host memory, a block and a piece on the device.
// Must not own: which figures there are (calibration_run.h). Threading: launching thread.
// Failure: codes of the device; measurements that a device keeps no time for are refused.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "comm/communicator.h"
#include "platform/clock.h"
#include "platform/device.h"

namespace dlo::engine {

struct CalibrationSeams {
  platform::Device& device;
  comm::Communicator* weight_communicator;  // null: no gathers are measured
  comm::ControlGroup& control;              // of all ranks that measure
  Nanoseconds timeout;
};

class CalibrationBench {
 public:
  // `piece_bytes` times the communicator's size is `block_bytes`; without one it may be 0.
  [[nodiscard]] static Result<std::unique_ptr<CalibrationBench>> make(const CalibrationSeams& seams,
                                                                      std::uint64_t block_bytes,
                                                                      std::uint64_t piece_bytes);
  ~CalibrationBench();
  CalibrationBench(const CalibrationBench&) = delete;
  CalibrationBench& operator=(const CalibrationBench&) = delete;

  // Enqueue one copy of the whole block, of a piece, one gather of the block from pieces; the
  // gather behind the piece when `landed` is asked for.
  void copy_block();
  void copy_piece();
  void gather(bool behind_piece);

  // What `issue` takes on `stream`, by the device's marks, everything finished. `host_ns`, when
  // given, gets the time of issuing.
  [[nodiscard]] Result<double> time_ms(platform::StreamKind stream,
                                       const std::function<void()>& issue,
                                       Nanoseconds* host_ns = nullptr);
  // The same with `beside` issued first, outside of what is timed.
  [[nodiscard]] Result<double> time_beside_ms(platform::StreamKind stream,
                                              const std::function<void()>& beside,
                                              const std::function<void()>& issue,
                                              Nanoseconds* host_ns = nullptr);

  // All ranks have got here. `mine` goes to all; the answer is by rank.
  [[nodiscard]] Result<std::vector<std::string>> meet(std::string_view where,
                                                      std::string_view mine = "");
  // The values of all ranks.
  [[nodiscard]] Result<std::vector<double>> share(std::string_view where, double mine);

  // Everything enqueued has ended; where it does not, the communicator is aborted, and buffers that
  // a stream may still touch stay for as long as the process lives.
  [[nodiscard]] Status finish();
  [[nodiscard]] platform::Device& device() { return seams_.device; }
  [[nodiscard]] const CalibrationSeams& seams() const { return seams_; }
  // The block in pinned memory, and on the device.
  [[nodiscard]] ByteSpan host() const { return host_->span(); }
  [[nodiscard]] DeviceSpan block() const { return block_->span(); }
  [[nodiscard]] std::uint64_t block_bytes() const { return block_bytes_; }
  [[nodiscard]] std::uint64_t piece_bytes() const { return piece_bytes_; }

 private:
  explicit CalibrationBench(const CalibrationSeams& seams);
  [[nodiscard]] Deadline deadline() const;
  // Aborts gathers until every stream has ended what it was given; false where one does not.
  [[nodiscard]] bool come_to_rest();

  CalibrationSeams seams_;
  std::uint64_t block_bytes_ = 0;
  std::uint64_t piece_bytes_ = 0;
  std::unique_ptr<platform::HostBuffer> host_;
  std::unique_ptr<platform::DeviceBuffer> block_;
  std::unique_ptr<platform::DeviceBuffer> piece_;
  platform::TimeMarkId from_;
  platform::TimeMarkId to_;
  platform::EventId landed_;
  std::array<platform::EventId, platform::kStreamCount> ends_{};
  bool rests_ = true;
};

}  // namespace dlo::engine
