// Owns: the small Wan models that the unit tests of model/ share: a configuration, operands with
// seeded values, and one forward as bytes.
// Must not own: golden values (tests/golden). Shapes are odd on purpose: batch 2, 30 tokens.
#pragma once

#include <memory>
#include <vector>

#include "base/json.h"
#include "model/model_factory.h"
#include "platform/device.h"

namespace dlo::test {

// 2 heads x 12, ffn 20, text 10, `blocks` blocks.
[[nodiscard]] nlohmann::json tiny_wan_config(std::int64_t blocks);

[[nodiscard]] std::unique_ptr<model::DitModel> make_tiny_wan(
    std::int64_t blocks, const model::ModelOptions& options = {});

// Operands of a forward of the tiny model and the memory behind them.
class TinyWanCall {
 public:
  TinyWanCall(platform::Device& device, std::uint64_t seed);

  [[nodiscard]] model::DitCall& call() { return call_; }
  [[nodiscard]] std::vector<std::byte> output_bytes() const;

 private:
  [[nodiscard]] model::DeviceTensor operand(platform::Device& device, const Shape& shape);

  std::vector<std::unique_ptr<platform::DeviceBuffer>> buffers_;
  model::DitCall call_;
};

}  // namespace dlo::test
