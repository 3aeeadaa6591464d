// The components beside the transformers in a worker: a text encoder that is placed by the model's
// OffloadPlan, and its stage before a request denoises.
#include "backend/transfer_plan.h"
#include "engine/prompt_stage.h"
#include "engine/worker_state.h"

namespace dlo::engine {

Status Worker::State::place_components() {
  auto* encoder = model.text_encoder();
  if (encoder == nullptr) {
    return {};
  }
  auto& tensors = other_tensors != nullptr ? *other_tensors : *host_tensors;
  text_component = std::make_unique<backend::DeviceComponent>(*device, encoder->spec(), tensors);
  // The plan is one of offloading: a resident run has its components on the device as all else.
  const auto plan =
      backend::wants_streaming(config) ? model.pipeline().offload_plan : contracts::OffloadPlan{};
  stages.emplace(plan, std::vector<backend::OnDemandComponent*>{text_component.get()});
  if (auto placed = stages->place(deadline()); !placed.ok()) {
    return placed;
  }
  if (stages->on_demand().empty()) {
    text_component->release_host();
    event("components: text_encoder stays");
  } else {
    event("components: text_encoder on demand");
  }
  return {};
}

Status Worker::State::encode_prompt(std::uint32_t of_request) {
  if (!stages) {
    return {};
  }
  const auto path = text_component->path();
  if (auto entered = stages->enter(path, deadline()); !entered.ok()) {
    return entered;
  }
  pipeline->encode_prompt(of_request);
  return stages->leave(path, deadline());
}

std::uint64_t Worker::State::on_demand_bytes() const {
  return stages && !stages->on_demand().empty() ? text_component->device_bytes() : 0;
}

}  // namespace dlo::engine
