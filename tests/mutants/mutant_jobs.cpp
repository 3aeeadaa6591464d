#include "tests/mutants/mutant_jobs.h"

#include <fmt/format.h>

#include <array>

#include "tests/property/backend/delay_device.h"

namespace dlo::test {

using platform::OpLabel;
using platform::Site;

namespace {

Decorate slow_site(Site site, Nanoseconds delay) {
  return [site, delay](int, std::unique_ptr<platform::Device> device) {
    return std::make_unique<DelayDevice>(std::move(device), [site, delay](const OpLabel& label) {
      return label.site == site ? delay : 0;
    });
  };
}

}  // namespace

Decorate slow_copies() {
  return slow_site(Site::kH2d, 2 * kMillisecond);
}
Decorate slow_computes() {
  return slow_site(Site::kCompute, 5 * kMillisecond);
}
Decorate slow_packs() {
  return slow_site(Site::kPack, 2 * kMillisecond);
}
Decorate slow_gathers() {
  return slow_site(Site::kGather, 5 * kMillisecond);
}

namespace {

struct Way {
  int ranks;
  std::uint64_t chunk_bytes;
  bool mapped;
  bool ahead;  // chunks are begun before the one before is finished
};

// The largest block is not the last one, so that its bytes linger in a slot.
synthetic::SyntheticShape mutant_shape(std::uint32_t blocks, bool child) {
  synthetic::SyntheticShape shape;
  shape.seed = 17;
  auto& ring = shape.rings.emplace_back();
  for (std::uint32_t b = 0; b < blocks; ++b) {
    ring.blocks.push_back({{DType::kU8, {b == 1 ? 9000 : 3000}, {}}});
  }
  if (child) {
    shape.rings.emplace_back().blocks.assign(2, {{DType::kU8, {2000}, {}}});
  }
  return synthetic::with_children(std::move(shape));
}

SyntheticJob mutant_job(const synthetic::SyntheticShape& shape, std::uint32_t depth, const Way& way,
                        const Decorate& decorate) {
  SyntheticJob job;
  job.shape = shape;
  job.ranks = way.ranks;
  job.config = streaming_config(static_cast<std::uint32_t>(way.ranks), depth, way.chunk_bytes);
  job.mapped = way.mapped;
  job.config.staging_chunk_bytes = 2048;
  job.config.staging_bytes = (way.ahead ? 3 : 2) * job.config.staging_chunk_bytes;
  job.pack_threads = way.ahead ? 2 : 1;
  job.requests = whole_forwards(shape.rings.size(), 1, 2);
  job.decorate = decorate;
  job.timeout = 5 * kSecond;
  return job;
}

}  // namespace

std::vector<NamedJob> mutant_jobs(const Decorate& decorate) {
  constexpr std::array kWays{Way{1, 0, false, false}, Way{2, 0, false, false},
                             Way{2, 512, false, false}, Way{1, 0, true, false},
                             Way{1, 0, true, true}};
  std::vector<NamedJob> jobs;
  for (const std::uint32_t blocks : {4U, 5U}) {
    for (const std::uint32_t depth : {1U, 2U}) {
      for (const auto& way : kWays) {
        for (const bool child : {false, true}) {
          jobs.push_back(
              NamedJob{fmt::format("{} blocks{}, depth {}, {} ranks, chunk {}{}{}", blocks,
                                   child ? " and a child" : "", depth, way.ranks, way.chunk_bytes,
                                   way.mapped ? ", mapped" : "", way.ahead ? " and ahead" : ""),
                       mutant_job(mutant_shape(blocks, child), depth, way, decorate)});
        }
      }
    }
  }
  return jobs;
}

bool detected(const SyntheticJob& job, std::string& why) {
  SyntheticJob plain = job;
  const auto resident = resident_digest(plain);
  for (const auto& rank : run_job(job)) {
    if (!rank.good(resident) || rank.repairs > 0) {
      why = rank.text();
      return true;
    }
  }
  return false;
}

}  // namespace dlo::test
