// Owns: FaultingExecutor, the decorator that lets a submission be refused, or one of its tasks
// throw, as a FaultPlan says: no thread to be had, no memory in a worker.
// Must not own: the plan or its counters. Which task fails is drawn on the submitting thread, in
// the order of the tasks, whatever thread it will run on.
// Threading and failure: those of the executor below; what is injected is thrown as RunError.
#pragma once

#include "platform/executor.h"
#include "platform/fault/fault_plan.h"

namespace dlo::platform {

class FaultingExecutor : public Executor {
 public:
  // `inner` and `injector` outlive the object.
  FaultingExecutor(Executor& inner, FaultInjector& injector)
      : inner_(&inner), injector_(&injector) {}

  [[nodiscard]] std::size_t worker_count() const override { return inner_->worker_count(); }
  void parallel_for(std::size_t count, const std::function<void(std::size_t)>& task) override;

 private:
  Executor* inner_;
  FaultInjector* injector_;
};

}  // namespace dlo::platform
