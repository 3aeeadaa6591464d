#include "hot_path/pack_table.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace dlo::hot_path {

PackTable::PackTable(std::vector<PackRun> runs, std::uint64_t block_bytes) {
  std::sort(runs.begin(), runs.end(), [](const PackRun& a, const PackRun& b) {
    return a.block_offset_bytes < b.block_offset_bytes;
  });
  for (const auto& run : runs) {
    require(run.block_offset_bytes >= bytes_, "two runs of a block overlap");
    append(PackRun{bytes_, nullptr, run.block_offset_bytes - bytes_});
    append(run);
  }
  require(bytes_ <= block_bytes, "a run of a block lies behind its end");
  append(PackRun{bytes_, nullptr, block_bytes - bytes_});
  runs_.shrink_to_fit();
}

void PackTable::append(const PackRun& run) {
  if (run.bytes == 0) {
    return;
  }
  bytes_ += run.bytes;
  if (!runs_.empty()) {
    auto& last = runs_.back();
    const bool zeros = last.source == nullptr && run.source == nullptr;
    if (zeros || (last.source != nullptr && last.source + last.bytes == run.source)) {
      last.bytes += run.bytes;
      return;
    }
  }
  runs_.push_back(run);
}

void PackTable::fill(std::uint64_t offset_bytes, ByteSpan destination) const {
  require(offset_bytes <= bytes_ && destination.size() <= bytes_ - offset_bytes,
          "a block has fewer bytes than are asked for");
  // First run that ends behind the offset.
  auto run = std::upper_bound(runs_.begin(), runs_.end(), offset_bytes,
                              [](std::uint64_t offset, const PackRun& r) {
                                return offset < r.block_offset_bytes + r.bytes;
                              });
  std::uint64_t done = 0;
  for (; done < destination.size(); ++run) {
    const auto skipped = offset_bytes + done - run->block_offset_bytes;
    const auto bytes = std::min(run->bytes - skipped, destination.size() - done);
    if (run->source == nullptr) {
      std::memset(destination.data() + done, 0, bytes);
    } else {
      std::memcpy(destination.data() + done, run->source + skipped, bytes);
    }
    done += bytes;
  }
}

}  // namespace dlo::hot_path
