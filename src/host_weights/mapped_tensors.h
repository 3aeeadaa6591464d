// Owns: MappedTensors, the host tensors of a HostWeightPlan: files mapped shared and read-only,
// once each, and private overlays of the tensors that a later step changed.
// Must not own: the proof (preflight.h), the steps (weight_loader.h), placement (backend).
// Threading: intact() and truncated_file() from any thread at any time; view() and for_each_run()
// of tensors as they lie on disk from any thread while the launching thread changes nothing; the
// rest on that one. Failure: open() refuses a checkpoint that is no longer what the plan says; a
// file that shrinks under its mapping is found by intact(). Source: behaviour.md 3.4;
// contracts/host_tensors.h.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "contracts/host_weight_plan.h"
#include "host_weights/editable_tensors.h"
#include "host_weights/private_tensors.h"
#include "host_weights/safetensors/reader.h"
#include "platform/device.h"
#include "platform/file_system.h"

namespace dlo::host_weights {

class MappedTensors final : public EditableTensors {
 public:
  // Maps every file of `plan` and holds each tensor against it again. Codes: those of
  // SafetensorsFile::open; missing_tensor, shape_mismatch, dtype_mismatch, duplicate_tensor.
  // `device` outlives the result; its books count the overlays as pageable.
  [[nodiscard]] static Result<std::unique_ptr<MappedTensors>> open(
      const platform::FileSystem& files, const contracts::HostWeightPlan& plan,
      platform::Device& device);

  [[nodiscard]] contracts::Backing backing() const override { return backing_; }
  // A deferred transform is carried out in private memory, once.
  [[nodiscard]] TensorView view(const std::string& name) const override;
  void for_each_run(const std::string& name, const contracts::RunSink& sink) const override;
  [[nodiscard]] bool intact() const noexcept override;
  [[nodiscard]] std::string truncated_file() const override;
  void release(const std::string& name) override;
  // Of overlays and of views of deferred transforms.
  [[nodiscard]] std::uint64_t held_bytes() const override;

  [[nodiscard]] bool holds(const std::string& name) const override;
  [[nodiscard]] Result<ByteSpan> edit(const std::string& name) override;
  [[nodiscard]] Status recast(const std::string& name, DType dtype) override;

  // What is mapped now, by path; device and inode tell whether ranks share it.
  [[nodiscard]] std::map<platform::Path, platform::FileInfo> mapped_files() const;

 private:
  struct OpenFile {
    std::unique_ptr<SafetensorsFile> file;  // null once the last tensor let go of it
    std::size_t tensor_count = 0;           // that still read it
  };
  struct Tensor {
    std::size_t file_index = 0;
    TensorView stored;                     // in the mapping
    std::vector<contracts::CopyRun> runs;  // by destination; empty: the stored tensor as a whole
  };

  MappedTensors(platform::Device& device, contracts::Backing backing)
      : backing_(backing), overlays_(device), views_(device) {}

  [[nodiscard]] Status add(const platform::FileSystem& files, const std::string& name,
                           const contracts::TensorBinding& binding);
  [[nodiscard]] Result<std::size_t> file_of(const platform::FileSystem& files,
                                            const platform::Path& path);
  [[nodiscard]] const Tensor& mapped(const std::string& name) const;
  [[nodiscard]] static bool was_truncated(const OpenFile& open);
  // Copies the final bytes of a mapped tensor to `destination`.
  static void gather(const Tensor& tensor, ByteSpan destination);
  void let_go(const std::string& name);

  contracts::Backing backing_;
  std::map<platform::Path, std::size_t> file_index_;
  std::map<std::string, Tensor> tensors_;
  PrivateTensors overlays_;
  mutable PrivateTensors views_;  // of deferred transforms
  mutable std::mutex mutex_;      // guards the two below against intact()
  std::vector<OpenFile> files_;
  std::string truncated_file_;  // that is closed by now; empty: none
};

}  // namespace dlo::host_weights
