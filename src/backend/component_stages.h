// Owns: OnDemandComponent, what a component beside the DiTs (an encoder, a decoder) offers to come
// and go, and ComponentStages, which places each of them: for good, or around its stage.
// Must not own: the components, their weights, or the order of stages (engine).
// Its caller is the worker: the text encoder comes before a request denoises and is gone by then.
// Threading: launching thread. Failure: refusals of the component; a stage that is left twice or
// never entered is no error.
// Source: behaviour.md 5.1 and 5.2 step 6.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "contracts/offload_plan.h"

namespace dlo::backend {

class OnDemandComponent {
 public:
  virtual ~OnDemandComponent() = default;

  [[nodiscard]] virtual std::string_view path() const = 0;  // "text_encoder"
  // False for one that stays where it is once it was loaded.
  [[nodiscard]] virtual bool can_offload() const = 0;
  // Brings its weights to the device; idempotent.
  [[nodiscard]] virtual Status load(Deadline deadline) = 0;
  // Takes them off the device, whose streams no longer use them; idempotent. Precondition:
  // can_offload().
  [[nodiscard]] virtual Status offload(Deadline deadline) = 0;
};

class ComponentStages {
 public:
  // The components outlive the object.
  ComponentStages(const contracts::OffloadPlan& plan, std::vector<OnDemandComponent*> components);

  // Start-up: components that the plan names and that can be offloaded are, the others come to the
  // device for good. Ends at the first refusal.
  [[nodiscard]] Status place(Deadline deadline);

  // Around the stage of one component: nothing for one that is there for good. Throws LogicError
  // for a path that is no component.
  [[nodiscard]] Status enter(std::string_view path, Deadline deadline);
  [[nodiscard]] Status leave(std::string_view path, Deadline deadline);

  // Paths of those that come and go.
  [[nodiscard]] std::vector<std::string> on_demand() const;

 private:
  struct Placed {
    OnDemandComponent* component = nullptr;
    bool on_demand = false;
  };

  [[nodiscard]] const Placed& find(std::string_view path) const;

  std::vector<Placed> components_;
};

}  // namespace dlo::backend
