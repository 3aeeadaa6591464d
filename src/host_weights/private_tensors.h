// Owns: PrivateTensors, host tensors in memory of this process alone, one allocation each, so that
// each one's memory goes back to the operating system as soon as it is released.
// Must not own: files, or where the bytes go next (backend).
// Threading: reserve, view and release on the launching thread (a Device allocates there); the
// spans of different tensors may be written by different threads in between.
// Failure: host_out_of_memory of the device; LogicError for unknown and released names.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "host_weights/editable_tensors.h"
#include "platform/device.h"

namespace dlo::host_weights {

class PrivateTensors : public EditableTensors {
 public:
  // `device` outlives the object; its books count the memory as pageable.
  explicit PrivateTensors(platform::Device& device) : device_(&device) {}

  // Memory for one tensor, of exactly its bytes, page aligned, zeroed. Throws LogicError for a name
  // that is held already.
  [[nodiscard]] Result<ByteSpan> reserve(const std::string& name, DType dtype, const Shape& shape);

  [[nodiscard]] bool holds(const std::string& name) const override;
  [[nodiscard]] Result<ByteSpan> edit(const std::string& name) override;
  [[nodiscard]] Status recast(const std::string& name, DType dtype) override;
  [[nodiscard]] TensorView view(const std::string& name) const override;
  void release(const std::string& name) override;
  [[nodiscard]] std::uint64_t held_bytes() const override { return held_bytes_; }

 private:
  struct Tensor {
    DType dtype = DType::kF32;
    Shape shape;
    std::unique_ptr<platform::HostBuffer> buffer;
  };

  [[nodiscard]] const Tensor& held(const std::string& name) const;

  platform::Device* device_;
  std::map<std::string, Tensor> tensors_;
  std::uint64_t held_bytes_ = 0;
};

}  // namespace dlo::host_weights
