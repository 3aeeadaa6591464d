#include "backend/given_up_buffers.h"

#include <exception>
#include <mutex>
#include <utility>
#include <vector>

namespace dlo::backend {

namespace {

// Never destroyed: at the end of the process a stream may still write.
template <typename Buffer>
void keep(std::unique_ptr<Buffer> buffer) noexcept {
  Buffer* const given_up = buffer.release();
  if (given_up == nullptr) {
    return;
  }
  try {
    static std::mutex mutex;
    static auto& kept = *new std::vector<Buffer*>;
    const std::lock_guard lock(mutex);
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

void give_up(PackerHolder packer) noexcept {
  keep(std::move(packer));
}

}  // namespace dlo::backend
