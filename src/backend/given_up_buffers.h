// Owns: buffers that disable() gives up because a stream may still touch them, and what packs into
// them: they stay for as long as the process lives, and reachable, so that a leak checker can tell
// them from a leak.
// Must not own: the decision. Threading: any thread. Failure: none; without memory for the list
// what is given up is kept all the same, and nothing is destroyed or waited for.
#pragma once

#include <memory>

#include "hot_path/chunk_packer.h"
#include "platform/device.h"

namespace dlo::backend {

void give_up(std::unique_ptr<platform::DeviceBuffer> buffer) noexcept;
void give_up(std::unique_ptr<platform::HostBuffer> buffer) noexcept;
// A packer as its owner holds it from the start, so that giving it up takes no memory. Workers may
// be at a piece that does not end. What is null is nothing to keep.
using PackerHolder = std::unique_ptr<std::shared_ptr<hot_path::ChunkPacker>>;
void give_up(PackerHolder packer) noexcept;

}  // namespace dlo::backend
