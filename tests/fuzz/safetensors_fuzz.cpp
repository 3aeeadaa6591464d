// Goal: no bytes make the header parser crash, hang, allocate from an unchecked length or hand out
// a tensor outside the file.
// Method: libFuzzer with address and undefined-behaviour sanitizers; seeds are the conformance set.
// An accepted file must tile its data exactly and survive being planned and parsed again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "host_weights/safetensors/header.h"
#include "host_weights/safetensors/weight_map.h"
#include "host_weights/safetensors/writer.h"

namespace {

using namespace dlo::host_weights;  // NOLINT: a program of one file

void require_that(bool holds) {
  if (!holds) {
    std::abort();
  }
}

// Tensors lie one behind the other from the header to the end of the file.
void check_tiling(const Header& header, std::size_t file_bytes) {
  std::uint64_t end = 0;
  for (const auto& record : header.tensors) {
    require_that(record.begin_bytes == end && record.end_bytes >= end);
    end = record.end_bytes;
    require_that(dlo::tensor_bytes(record.shape, record.dtype) == record.size_bytes());
  }
  require_that(header.data_start_bytes + end == file_bytes);
}

void check_round_trip(const Header& header) {
  std::vector<PlannedTensor> tensors;
  for (const auto& record : header.tensors) {
    tensors.push_back({record.name, record.dtype, record.shape});
  }
  const auto metadata = header.metadata.value_or(FileMetadata{});
  const auto plan = plan_file(tensors, metadata);
  require_that(plan.ok());
  auto file = plan->head;
  require_that(plan->data_bytes < (std::uint64_t{1} << 32U));
  file.resize(plan->file_bytes());
  const auto again = parse_header(std::as_bytes(std::span(file)), "again");
  require_that(again.ok() && again->tensors == header.tensors);
  require_that(again->metadata.value_or(FileMetadata{}) == metadata);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  const auto header = parse_header(file, "fuzz");
  if (header.ok()) {
    check_tiling(*header, size);
    check_round_trip(*header);
  } else {
    require_that(header_error_kind(header.refusal()).has_value());
    require_that(!header.refusal().message().empty());
  }
  static_cast<void>(
      parse_weight_map(std::string(reinterpret_cast<const char*>(data), size), "fuzz").ok());
  return 0;
}
