// Owns: LentTensors, host tensors that several backends read one after another: each sees them all,
// none frees them; and SharedTensors, the place of those that are lent. Must not own: loading.
// Threading: that of the tensors behind it. Failure: that of the tensors behind it. They outlive
// the loan.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "contracts/host_tensors.h"
#include "engine/run_report.h"

namespace dlo::engine {

// One set for each backing that a worker of the run wanted. Backends have a copy of ordinary ones
// once they are enabled; mapped ones are read on every forward, until the backends are disabled.
struct SharedTensors {
  std::unique_ptr<contracts::HostTensors> ordinary;
  std::unique_ptr<contracts::HostTensors> mapped;
  std::vector<BackingFile> mapped_files;
};

// Keeps what a stream may still read past its deadline for as long as the process lives, reachable,
// so that a leak checker can tell it from a leak. Any thread.
void leave_to_process(std::shared_ptr<const void> kept) noexcept;

class LentTensors final : public contracts::HostTensors {
 public:
  explicit LentTensors(contracts::HostTensors& owner) : owner_(owner) {}

  [[nodiscard]] contracts::Backing backing() const override { return owner_.backing(); }
  [[nodiscard]] TensorView view(const std::string& name) const override {
    return owner_.view(name);
  }
  void for_each_run(const std::string& name, const contracts::RunSink& sink) const override {
    owner_.for_each_run(name, sink);
  }
  [[nodiscard]] bool intact() const noexcept override { return owner_.intact(); }
  [[nodiscard]] std::string truncated_file() const override { return owner_.truncated_file(); }
  // Kept: the next backend wants it too.
  void release(const std::string& /*name*/) override {}
  [[nodiscard]] std::uint64_t held_bytes() const override { return owner_.held_bytes(); }

 private:
  contracts::HostTensors& owner_;
};

}  // namespace dlo::engine
