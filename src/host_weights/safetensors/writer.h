// Owns: writing one safetensors file: the plan (header, offsets) and SafetensorsWriter, which takes
// tensors in any order from several threads and makes the file appear complete or not at all.
// Must not own: values, or which file a tensor belongs to. Tensors lie in the order of the plan.
// Threading: write() from any thread for disjoint ranges; the rest from one thread.
// Failure: refusals with the path. Until finish() has succeeded nothing exists under the final
// name, and a writer that is dropped removes its temporary file.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host_weights/safetensors/header.h"
#include "platform/file_system.h"

namespace dlo::host_weights {

struct PlannedTensor {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
};

// Everything about a file but its values.
struct WritePlan {
  std::string head;                   // length field, JSON text and padding
  std::vector<TensorRecord> tensors;  // as planned; offsets from the start of the data
  std::uint64_t data_bytes = 0;

  [[nodiscard]] std::uint64_t file_bytes() const { return head.size() + data_bytes; }
};

// Lays out the tensors one behind the other in the given order; the JSON text is padded with spaces
// so that the data starts 8-byte aligned. Refuses (invalid_value) what parse_header would refuse or
// could not give back: repeated names, the name __metadata__, text that is not UTF-8, negative
// extents, sizes that overflow or end inside a byte, a header above the limit.
[[nodiscard]] Result<WritePlan> plan_file(std::span<const PlannedTensor> tensors,
                                          const FileMetadata& metadata);

class SafetensorsWriter {
 public:
  // Creates a temporary file beside `path` and writes the head. `files` outlives the writer.
  [[nodiscard]] static Result<SafetensorsWriter> create(platform::FileSystem& files,
                                                        const platform::Path& path, WritePlan plan);

  SafetensorsWriter(SafetensorsWriter&& other) noexcept;
  SafetensorsWriter& operator=(SafetensorsWriter&&) = delete;
  ~SafetensorsWriter();

  [[nodiscard]] const WritePlan& plan() const { return plan_; }

  // Writes a part of tensor `index` of the plan. Precondition: the part lies inside the tensor.
  [[nodiscard]] Status write(std::size_t index, std::uint64_t offset_bytes, ConstByteSpan bytes);

  // Makes the file durable and visible: sync, close, rename over `path`, sync of the directory.
  // Precondition: every byte of every tensor was written, once (LogicError otherwise).
  [[nodiscard]] Status finish();

 private:
  SafetensorsWriter(platform::FileSystem& files, platform::Path path, WritePlan plan,
                    platform::TemporaryFile temporary);
  Status publish();

  platform::FileSystem* files_;
  platform::Path path_;
  WritePlan plan_;
  platform::TemporaryFile temporary_;  // its file is null once moved from or finished
  std::atomic<std::uint64_t> written_bytes_{0};
};

}  // namespace dlo::host_weights
