// Owns: FlagPage, the values through which the streams of a group's ranks tell each other how far
// they are: a page of host memory that all processes of the group share and whose addresses the
// devices know. Row [to][from] is written by rank `from` and awaited by rank `to`.
// Must not own: the protocol (copy_engine_communicator). One node only.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>

#include "comm/communicator.h"
#include "comm/shared_page.h"

namespace dlo::comm {

class FlagPage {
 public:
  enum class Flag : std::uint8_t { kLanded, kTaken };

  // Collective over `group`: the first rank's page becomes everybody's. Codes: internal_error,
  // cuda_failed, those of the exchange; all ranks get one answer.
  [[nodiscard]] static Result<FlagPage> share(ControlGroup& group, Deadline deadline);
  ~FlagPage();
  FlagPage(FlagPage&& other) noexcept;
  FlagPage& operator=(FlagPage&&) = delete;
  FlagPage(const FlagPage&) = delete;
  FlagPage& operator=(const FlagPage&) = delete;

  // Device address of a flag.
  [[nodiscard]] CUdeviceptr address(int to, int from, Flag flag) const;
  // From the host: every flag that rank `to` waits for becomes `value`. It does not last: a write
  // that a peer's stream has queued may come after it.
  void release(int to, std::uint32_t value) noexcept;

 private:
  FlagPage(SharedPage page, int size) : page_(std::move(page)), size_(size) {}
  [[nodiscard]] Status pin();
  [[nodiscard]] std::size_t offset(int to, int from, Flag flag) const;

  std::optional<SharedPage> page_;
  int size_;
  CUdeviceptr device_address_ = 0;  // 0: not pinned
};

}  // namespace dlo::comm
