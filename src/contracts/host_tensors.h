// Owns: HostTensors, the interface through which the backend reads loader-made host tensors by
// runtime name and lets go of each one as soon as it has been packed.
// Must not own: placement. Implemented by the ordinary loader's private tensors and by the mapped
// tensors of a HostWeightPlan.
// Peak private host memory while the backend prepares shards is then one tensor above the shards,
// not a second model (reference 5.4).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "base/tensor_view.h"
#include "contracts/effective_transfer.h"

namespace dlo::contracts {

// One run of a tensor: where it starts in the tensor's bytes, and the bytes.
using RunSink = std::function<void(std::uint64_t offset_bytes, ConstByteSpan bytes)>;

class HostTensors {
 public:
  virtual ~HostTensors() = default;

  // What lies behind the tensors. Of a mapped backing, runs stay valid until release() of their
  // name or destruction, so they may be read again on every forward.
  [[nodiscard]] virtual Backing backing() const { return Backing::kOrdinary; }

  // The tensor, contiguous in its shape. Throws LogicError for a name that was never loaded or
  // was already released. Valid until release(name) or destruction.
  [[nodiscard]] virtual TensorView view(const std::string& name) const = 0;

  // Calls `sink` for every run that lies back to back in the source, in order of offsets; together
  // they are the contiguous tensor. A deferred transform (grouped QKV) shows as several runs. Same
  // errors and validity as view().
  virtual void for_each_run(const std::string& name, const RunSink& sink) const {
    sink(0, view(name).bytes);
  }

  // False once a mapped file has shrunk under a read: bytes read since it was last true are void.
  // Asked after every pack, from any thread; allocates nothing.
  [[nodiscard]] virtual bool intact() const noexcept { return true; }

  // The file that shrank; empty while all are whole, and where nothing is mapped. Any thread.
  [[nodiscard]] virtual std::string truncated_file() const { return {}; }

  // Lets go of `name`: frees its private memory; the last tensor of a mapped file closes it.
  // Idempotent.
  virtual void release(const std::string& name) = 0;

  // Private bytes still held.
  [[nodiscard]] virtual std::uint64_t held_bytes() const = 0;
};

// mapping_truncated, with the file; `read` is what was read of it: "tensor 'x'".
[[nodiscard]] Refusal truncated_refusal(const HostTensors& tensors, const std::string& read);

// Refuses with truncated_refusal() unless all files are intact.
[[nodiscard]] Status check_intact(const HostTensors& tensors, const std::string& read);

}  // namespace dlo::contracts
