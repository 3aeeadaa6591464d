// Owns: EditableTensors, host tensors that the loader's later steps (post-load, calibration) may
// still change, whatever lies behind them.
// Must not own: where the private memory comes from, or the order of the steps (weight_loader.h).
// Threading: launching thread. Failure: host_out_of_memory, mapping_truncated, dtype_mismatch;
// LogicError for a name that was never loaded or was released.
#pragma once

#include <string>

#include "base/result.h"
#include "contracts/host_tensors.h"

namespace dlo::host_weights {

class EditableTensors : public contracts::HostTensors {
 public:
  [[nodiscard]] virtual bool holds(const std::string& name) const = 0;

  // Bytes of `name` that may be written, contiguous in its shape; a mapped tensor becomes private
  // first. Everything that reads `name` afterwards sees what is written. Valid until the next
  // edit(), recast() or release() of `name`.
  [[nodiscard]] virtual Result<ByteSpan> edit(const std::string& name) = 0;

  // Converts `name` to another floating type, in private memory.
  [[nodiscard]] virtual Status recast(const std::string& name, DType dtype) = 0;
};

}  // namespace dlo::host_weights
