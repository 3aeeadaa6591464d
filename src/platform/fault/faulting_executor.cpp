#include "platform/fault/faulting_executor.h"

#include <map>

namespace dlo::platform {

namespace {

constexpr std::string_view kPurpose = "parallel_for";

}  // namespace

void FaultingExecutor::parallel_for(std::size_t count,
                                    const std::function<void(std::size_t)>& task) {
  if (!injector_->has_rules()) {
    inner_->parallel_for(count, task);  // nothing is allocated: the hot path packs through here
    return;
  }
  if (auto refusal = injector_->strike(SeamCall::kSubmit, kPurpose)) {
    throw RunError(*std::move(refusal));
  }
  std::map<std::size_t, Refusal> failing;
  for (std::size_t i = 0; i < count; ++i) {
    if (auto refusal = injector_->strike(SeamCall::kTask, kPurpose)) {
      failing.emplace(i, *std::move(refusal));
    }
  }
  inner_->parallel_for(count, [&failing, &task](std::size_t index) {
    if (const auto found = failing.find(index); found != failing.end()) {
      throw RunError(found->second);
    }
    task(index);
  });
}

}  // namespace dlo::platform
