// Owns: ControlGroup and Communicator over an MPI communicator of their own.
// Must not own: the steps of an exchange or a gather (mpi_exchange, mpi_gather).
// Threading: as comm/communicator.h. Failure: as mpi_exchange and mpi_gather.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/mpi/mpi_gather.h"
#include "comm/mpi/mpi_state.h"

namespace dlo::comm {

class MpiControlGroup : public ControlGroup {
 public:
  // `through_failures`: a standing failure ends no exchange (the world's own group).
  MpiControlGroup(std::shared_ptr<MpiState> state, std::shared_ptr<MpiCommHandle> comm,
                  MpiMembers members, bool through_failures);

  [[nodiscard]] int rank() const override { return static_cast<int>(members_.position); }
  [[nodiscard]] int size() const override { return static_cast<int>(members_.peers.size()); }
  [[nodiscard]] Result<std::vector<std::string>> exchange(std::string_view operation,
                                                          std::string_view mine,
                                                          Deadline deadline) override;

 private:
  std::shared_ptr<MpiState> state_;
  std::shared_ptr<MpiCommHandle> comm_;
  MpiMembers members_;
  bool through_failures_;
  std::uint64_t sequence_ = 0;
};

class MpiCommunicator : public Communicator {
 public:
  MpiCommunicator(std::shared_ptr<MpiState> state, std::shared_ptr<MpiCommHandle> comm,
                  const MpiMembers& members, Nanoseconds timeout);

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  void all_gather(platform::Device& device, platform::StreamKind stream, DeviceSpan input,
                  DeviceSpan output, const platform::OpLabel& label) override;
  void abort() noexcept override { gather_->abort(); }

 private:
  std::shared_ptr<MpiState> state_;
  std::shared_ptr<MpiGather> gather_;  // kept by queued operations too
  int rank_;
  int size_;
  Nanoseconds timeout_;
  std::uint64_t sequence_ = 0;
};

}  // namespace dlo::comm
