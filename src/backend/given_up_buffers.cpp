#include "backend/given_up_buffers.h"

#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace dlo::backend {

namespace {

// Never destroyed: at the end of the process a stream may still write.
template <typename Buffer>
void keep(std::unique_ptr<Buffer> buffer) noexcept {
  static std::mutex mutex;
  static auto& kept = *new std::vector<Buffer*>;
  Buffer* const given_up = buffer.release();
  const std::lock_guard lock(mutex);
  try {
    kept.push_back(given_up);
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace

void give_up(std::unique_ptr<platform::DeviceBuffer> buffer) noexcept {
  keep(std::move(buffer));
}

void give_up(std::unique_ptr<platform::HostBuffer> buffer) noexcept {
  keep(std::move(buffer));
}

void give_up(std::shared_ptr<hot_path::ChunkPacker> packer) noexcept {
  using Holder = std::shared_ptr<hot_path::ChunkPacker>;
  keep(std::unique_ptr<Holder>(new (std::nothrow) Holder(std::move(packer))));
}

}  // namespace dlo::backend
