#include "hot_path/rank_local_transfer.h"

#include <utility>

namespace dlo::hot_path {

using platform::Site;
using platform::StreamKind;

RankLocalTransfer::RankLocalTransfer(platform::Device& device, RingSources sources)
    : device_(device), sources_(std::move(sources)) {
  for (const auto& ring : sources_) {
    for (const auto& source : ring) {
      require(source.shard.group_size() == 1 && source.host.size() == source.shard.padded_bytes(),
              "a rank-local source is the whole padded block");
    }
  }
}

void RankLocalTransfer::load(const BlockLoad& load) {
  const auto host = sources_[load.ring][load.block].host;
  device_.wait(StreamKind::kCopy, load.free, load.label(Site::kFreeWait));
  if (!host.empty()) {
    device_.copy_to_device(StreamKind::kCopy, load.slot_span.subspan(0, host.size()), host,
                           load.label(Site::kH2d));
  }
  device_.record(load.ready, StreamKind::kCopy, load.label(Site::kReadyRecord));
}

}  // namespace dlo::hot_path
