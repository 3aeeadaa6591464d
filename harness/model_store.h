// Owns: where a scenario's checkpoint lies: given ones as they are, generated ones made once by
// rank 0 in the scratch folder and removed at the end.
// Must not own: the checkpoint's content (host_weights/seeded_checkpoint). Collective: all ranks
// ask for the same models in the same order.
// Failure: the refusal of rank 0, the same on every rank.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "comm/communicator.h"
#include "harness/scenario.h"
#include "platform/clock.h"
#include "platform/executor.h"
#include "platform/file_system.h"

namespace dlo::harness {

struct ModelStoreSeams {
  comm::World& world;
  platform::FileSystem& files;
  platform::Clock& clock;
  platform::Executor& executor;
};

class ModelStore {
 public:
  ModelStore(const ModelStoreSeams& seams, platform::Path scratch);

  // Folder of the checkpoint, there when this returns.
  [[nodiscard]] Result<platform::Path> prepare(const ModelChoice& model);

  // Removes what was generated. Rank 0 alone acts.
  [[nodiscard]] Status clean();

 private:
  [[nodiscard]] Status generate(const ModelChoice& model, const platform::Path& folder);

  ModelStoreSeams seams_;
  platform::Path scratch_;
};

}  // namespace dlo::harness
