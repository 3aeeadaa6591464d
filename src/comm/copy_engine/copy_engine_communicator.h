// Owns: CopyEngineCommunicator, an AllGather among the ranks of one node without a kernel of its
// own: each rank copies its piece and pulls the others' from their device memory, over NVLink by
// copy engines where they lie on other GPUs, and streams wait for each other by values in shared
// host memory. A collective kernel takes SMs from the compute beside it from its start until the
// slowest peer has joined.
// Deviates from vLLM-Omni: on one node the weight gather may run on copy engines instead of a
// collective kernel.
// Must not own: groups, input slots. Threading: launching thread. Failure: as comm/communicator.h.
// A stream whose peer is gone is released by a thread of its own once the failure signal stands, or
// by abort(): the launching thread may be held up in a driver's call behind that very stream. What
// was gathered then is garbage, and the standing failure ends the run. Host waits leave by deadline
// or by the signal. Every input is shared before it is used.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/copy_engine/copy_graphs.h"
#include "comm/copy_engine/flag_page.h"
#include "comm/copy_engine/stream_values.h"
#include "comm/release_watch.h"

namespace dlo::comm {

//   rank r, comm stream, operation n:
//     landed[p][r] := n for every peer p, then wait landed[r][p] >= n for every one
//     copy own piece to output[r], pull every peer p's piece to output[p]
//     taken[p][r] := n for every peer p, then wait taken[r][p] >= n for every one
//                                                     (then the input may be overwritten)
// All ranks load the same chunks in the same order, so waiting for every peer before the first pull
// loses little, and the host makes two calls for all flags instead of four a peer; the copies of
// a gather that was prepared are one launch (copy_graphs).
class CopyEngineCommunicator : public Communicator {
 public:
  // Collective over `group`; all ranks get one answer. `signal` outlives the communicator. Codes:
  // cuda_failed and those of the exchange.
  [[nodiscard]] static Result<std::unique_ptr<Communicator>> make(
      std::unique_ptr<ControlGroup> group, std::string where, const FailureSignal& signal,
      Deadline deadline);
  ~CopyEngineCommunicator() override;
  CopyEngineCommunicator(const CopyEngineCommunicator&) = delete;
  CopyEngineCommunicator& operator=(const CopyEngineCommunicator&) = delete;

  [[nodiscard]] int rank() const override { return group_->rank(); }
  [[nodiscard]] int size() const override { return group_->size(); }
  void all_gather(platform::Device& device, platform::StreamKind stream, DeviceSpan input,
                  DeviceSpan output, const platform::OpLabel& label) override;
  [[nodiscard]] Status share_inputs(platform::Device& device, const std::vector<DeviceSpan>& inputs,
                                    Deadline deadline) override;
  [[nodiscard]] Status prepare_gathers(const std::vector<PieceGather>& gathers) override;
  void forget_inputs(const std::vector<DeviceSpan>& inputs, Deadline deadline) noexcept override;
  void abort() noexcept override;

 private:
  // One shared input and where the peers' counterparts are mapped here.
  struct Shared {
    DeviceSpan mine;
    std::vector<void*> mapped;             // by rank, what was opened; null for this rank
    std::vector<const std::byte*> pieces;  // by rank
  };

  CopyEngineCommunicator(std::unique_ptr<ControlGroup> group, std::string where, FlagPage flags,
                         StreamValues values);
  // Every flag that this rank waits for, of all operations so far and of those to come.
  void release() noexcept;
  [[nodiscard]] std::string describe(const std::vector<DeviceSpan>& inputs) const;
  void open_peers(const std::vector<DeviceSpan>& inputs, const std::vector<std::string>& texts);
  [[nodiscard]] const Shared& find(DeviceSpan input) const;
  void gather_now(const platform::NativeStream& native, DeviceSpan input, DeviceSpan output);
  [[nodiscard]] PieceCopy own_copy(DeviceSpan input, DeviceSpan output) const;
  // The own piece's copy at step 0, then the pulls: everybody begins with another peer, so that no
  // link is asked by all at once.
  [[nodiscard]] PieceCopy copy_of(const Shared& shared, DeviceSpan input, DeviceSpan output,
                                  int step) const;
  // Tells every peer that this rank's `flag` is at `number`, and lets the stream wait for theirs.
  void meet(const platform::NativeStream& native, FlagPage::Flag flag, std::uint32_t number);
  // How many of `inputs` were shared here; they no longer are.
  std::size_t close_mappings(const std::vector<DeviceSpan>& inputs) noexcept;

  std::unique_ptr<ControlGroup> group_;
  std::string where_;
  FlagPage flags_;
  StreamValues values_;
  ValueBatch batch_;
  std::vector<Shared> shared_;
  CopyGraphs graphs_;
  std::atomic<std::uint32_t> sequence_{0};
  bool aborted_ = false;
  std::optional<ReleaseWatch> watch_;  // last: it uses the flags
};

}  // namespace dlo::comm
