// Owns: FaultingExecutor, the decorator that lets a submission be refused, or one of its tasks
// throw, as a FaultPlan says: no thread to be had, no memory in a worker.
// Must not own: the plan or its counters. Which task fails is drawn on the submitting thread, in
// the order of the tasks, whatever thread it will run on; a batch under a plan with rules has run
// when start() returns.
// Without rules it allocates nothing of its own; with rules start() does.
// Threading and failure: those of the executor below; what is injected is thrown as RunError, by
// start() for a submission and by finish() for a task.
#pragma once

#include "platform/executor.h"
#include "platform/fault/fault_plan.h"

namespace dlo::platform {

class FaultingExecutor : public Executor {
 public:
  // `inner` outlives the object, and `injector` every start().
  FaultingExecutor(Executor& inner, FaultInjector& injector)
      : inner_(&inner), injector_(&injector), faulty_(injector.has_rules()) {}

  [[nodiscard]] std::size_t worker_count() const override { return inner_->worker_count(); }
  void start(Batch& batch) override;
  void finish(Batch& batch) override;

 private:
  Executor* inner_;
  FaultInjector* injector_;
  bool faulty_;
};

}  // namespace dlo::platform
