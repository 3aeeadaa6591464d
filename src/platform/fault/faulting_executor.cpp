#include "platform/fault/faulting_executor.h"

#include <map>

namespace dlo::platform {

namespace {

constexpr std::string_view kPurpose = "parallel_for";

}  // namespace

void FaultingExecutor::start(Batch& batch) {
  if (!faulty_) {
    inner_->start(batch);  // nothing is allocated: the hot path packs through here
    return;
  }
  if (auto refusal = injector_->strike(SeamCall::kSubmit, kPurpose)) {
    throw RunError(*std::move(refusal));
  }
  std::map<std::size_t, Refusal> failing;
  for (std::size_t i = 0; i < batch.count; ++i) {
    if (auto refusal = injector_->strike(SeamCall::kTask, kPurpose)) {
      failing.emplace(i, *std::move(refusal));
    }
  }
  batch.books = {};
  try {
    inner_->parallel_for(batch.count, [&failing, &batch](std::size_t index) {
      if (const auto found = failing.find(index); found != failing.end()) {
        throw RunError(found->second);
      }
      (*batch.task)(index);
    });
  } catch (...) {
    batch.books.failure = std::current_exception();
  }
}

void FaultingExecutor::finish(Batch& batch) {
  if (faulty_) {
    batch.rethrow();
  } else {
    inner_->finish(batch);
  }
}

}  // namespace dlo::platform
