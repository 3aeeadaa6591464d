#include "base/failure_signal.h"

#include <fmt/format.h>

#include <memory>
#include <mutex>

namespace dlo {

std::string Failure::message() const {
  const auto place = block < 0 ? operation : fmt::format("{}, block {}", operation, block);
  return fmt::format("rank {} failed: {} [{}] ({})", rank, detail, code, place);
}

Refusal Failure::refusal() const {
  const auto place = block < 0 ? fmt::format("rank {}, {}", rank, operation)
                               : fmt::format("rank {}, {}, block {}", rank, operation, block);
  return Refusal{code, detail, place, "see the first failing rank's log"};
}

namespace {

class LocalFailureSignal : public FailureSignal {
 public:
  void raise(const Failure& failure) override {
    const std::lock_guard lock(mutex_);
    if (!failure_) {
      failure_ = failure;
    }
  }

  std::optional<Failure> poll() const override {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Failure> failure_;
};

}  // namespace

std::unique_ptr<FailureSignal> make_local_failure_signal() {
  return std::make_unique<LocalFailureSignal>();
}

}  // namespace dlo
