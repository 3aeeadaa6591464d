// Owns: seams that call a test back at a chosen moment: after a number of mapped files, before a
// number of launched tasks. Test-only.
// Must not own: what happens then. Threading: the callback runs on the thread that made the call,
// once. Failure: that of the seams below.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "platform/fault/faulting_file_system.h"
#include "platform/forwarding_device.h"

namespace dlo::test_support {

class MomentFiles final : public platform::FaultingFileSystem {
 public:
  // `then` is called once `maps` files were mapped; 0: never.
  MomentFiles(platform::FileSystem& inner, platform::FaultInjector& injector, int maps,
              std::function<void()> then)
      : FaultingFileSystem(inner, injector, {}), left_(maps), then_(std::move(then)) {}

  [[nodiscard]] Result<std::unique_ptr<platform::MappedFile>> map_read_only(
      const platform::Path& path) const override {
    auto mapped = FaultingFileSystem::map_read_only(path);
    if (--left_ == 0) {
      then_();
    }
    return mapped;
  }

 private:
  mutable int left_;  // a rank maps on its launching thread
  std::function<void()> then_;
};

class MomentDevice final : public platform::ForwardingDevice {
 public:
  // `then` is called before the task with number `launches`, from 1; 0: never.
  MomentDevice(std::unique_ptr<platform::Device> inner, int launches, std::function<void()> then)
      : ForwardingDevice(std::move(inner)), left_(launches), then_(std::move(then)) {}

  void launch(platform::StreamKind stream, platform::StreamTask task,
              const platform::OpLabel& label) override {
    if (--left_ == 0) {
      then_();
    }
    ForwardingDevice::launch(stream, std::move(task), label);
  }

 private:
  int left_;
  std::function<void()> then_;
};

}  // namespace dlo::test_support
