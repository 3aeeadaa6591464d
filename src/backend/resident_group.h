// Owns: ResidentGroup, the leading blocks that are on the device while a stage runs: their buffers,
// loaded when the stage begins and dropped when it ends, never copied back.
// Must not own: their host bytes and the way here (hot_path/block_transfer.h), rings or slots.
// Memory is allocated when the stage begins and returned when it ends, as in the reference: what
// runs behind the stage (a decoder) is to have it. Neither happens inside a forward.
// Threading: launching thread. Failure: refusals; a load that is refused leaves nothing.
// Source: behaviour.md 5.11.
#pragma once

#include <memory>
#include <vector>

#include "backend/placement_plan.h"
#include "base/deadline.h"
#include "base/result.h"
#include "hot_path/block_transfer.h"
#include "platform/device.h"

namespace dlo::backend {

class ResidentGroup {
 public:
  struct Member {
    const BlockPlacement* placement = nullptr;
    std::uint32_t ring = 0;
    std::uint32_t block = 0;
  };

  // Creates two events. Everything passed outlives the group; group of one rank alone.
  ResidentGroup(platform::Device& device, hot_path::BlockTransfer& transfer,
                std::vector<Member> members);

  // Allocates, issues the loads, lets compute wait for them and binds the blocks; the host waits at
  // most for new memory to be cleared. Nothing when they are loaded. Codes: device_out_of_memory,
  // what ends that wait. What the transfer throws leaves them half loaded: then only disable()
  // may follow.
  [[nodiscard]] Status load();

  // Waits for every stream, points the blocks at their placeholders and frees their memory. Nothing
  // when they are not loaded. After a refusal they are as before. Codes: a device's failure,
  // deadline_exceeded.
  [[nodiscard]] Status drop(Deadline deadline);

  // How often they were loaded.
  [[nodiscard]] std::uint64_t load_count() const { return load_count_; }

  // Gives the buffers up without freeing them: a stream may still touch them.
  void abandon() noexcept;

 private:
  platform::Device& device_;
  hot_path::BlockTransfer& transfer_;
  std::vector<Member> members_;
  platform::EventId ready_;
  platform::EventId always_free_;  // never recorded: new memory waits for nobody
  std::vector<std::unique_ptr<platform::DeviceBuffer>> buffers_;  // by member; empty: not loaded
  std::uint64_t load_count_ = 0;
};

}  // namespace dlo::backend
