// Owns: the step from a diffusers folder to a model without weights and the way it is sampled, and
// what its transformers are to the backend: the rings of one parameter table.
// Must not own: weights or their loading (host_weights), placement (backend), what a family is
// (model/dit_pipeline.h).
// Failure: the codes of host_weights/model_index.h and model/dit_pipeline.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "contracts/parameter_table.h"
#include "engine/run_report.h"
#include "model/dit_pipeline.h"

namespace dlo::engine {

class CheckpointModel {
 public:
  CheckpointModel() = default;
  explicit CheckpointModel(model::DitPipeline pipeline) : pipeline_(std::move(pipeline)) {}

  // Every ring: of each transformer its own, then those of its children.
  [[nodiscard]] contracts::ParameterTable table() const;
  // Names of the transformers: each has a source of its own.
  [[nodiscard]] std::vector<std::string> components() const;
  // Gives the ring with each index of table() what `observer_of` returns for it; null is the
  // resident baseline.
  void set_observers(const std::function<contracts::BlockObserver*(std::size_t)>& observer_of);
  // Walks of each ring of table(), from forwards of each transformer.
  [[nodiscard]] std::vector<std::uint64_t> ring_walks(
      const std::vector<std::uint64_t>& forwards) const;

  [[nodiscard]] const model::DitPipeline& pipeline() const { return pipeline_; }
  // The transformer that measurements run. Precondition: not empty.
  [[nodiscard]] model::DitModel& first() const { return *pipeline_.transformers.front(); }
  // Null where text states are seeded.
  [[nodiscard]] model::TextEncoder* text_encoder() const { return pipeline_.text_encoder.get(); }
  // Lets go of the transformers.
  void clear() { pipeline_ = {}; }

 private:
  model::DitPipeline pipeline_;
};

// Where a run's text states come from.
enum class TextSource : std::uint8_t { kSeeded, kEncoder };

// A UniPC scheduler is replaced by flow-match Euler with the same flow_shift, and a note says so:
// the sampler does not touch what is offloaded.
// The model computes on `device`. With TextSource::kEncoder it has the folder's text encoder; codes
// beside the others: text_encoder_missing, not_in_this_product for a family that takes no prompts.
[[nodiscard]] Result<CheckpointModel> read_checkpoint_model(const platform::FileSystem& files,
                                                            const ModelSpec& model,
                                                            const platform::Device& device,
                                                            TextSource text = TextSource::kSeeded);

}  // namespace dlo::engine
