// Owns: GoldenTensors, the named F32 tensors of an inputs or expected file as plain values.
// Must not own: what they mean, or comparison (comparison.h). Reading refuses files that hold other
// dtypes than F32: that is the fixtures' format.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/tensor_view.h"
#include "platform/file_system.h"

namespace dlo::golden {

struct GoldenTensor {
  Shape shape;
  std::vector<float> values;
};

using GoldenTensors = std::map<std::string, GoldenTensor>;

[[nodiscard]] Result<GoldenTensors> read_golden_tensors(const platform::FileSystem& files,
                                                        const platform::Path& path);

// The JSON document in `path`; throws when there is none.
[[nodiscard]] nlohmann::json read_json(const platform::FileSystem& files,
                                       const platform::Path& path);

// The folder with the stored fixtures.
[[nodiscard]] platform::Path fixtures();

}  // namespace dlo::golden
