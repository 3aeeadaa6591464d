// Owns: buffers that disable() gives up because a stream may still touch them, and what packs into
// them: they stay for as long as the process lives, and reachable, so that a leak checker can tell
// them from a leak.
// Must not own: the decision. Threading: any thread. Failure: none; without memory for the list a
// buffer is given up all the same.
#pragma once

#include <memory>

#include "hot_path/chunk_packer.h"
#include "platform/device.h"

namespace dlo::backend {

void give_up(std::unique_ptr<platform::DeviceBuffer> buffer) noexcept;
void give_up(std::unique_ptr<platform::HostBuffer> buffer) noexcept;
// Workers may be at a piece that does not end.
void give_up(std::shared_ptr<hot_path::ChunkPacker> packer) noexcept;

}  // namespace dlo::backend
