#include "engine/throughput_arm.h"

#include <cstring>

#include "base/sha256.h"
#include "config/validate.h"
#include "contracts/block_layout.h"

namespace dlo::engine {

using platform::OpLabel;
using platform::Site;
using platform::StreamKind;

namespace {

const OpLabel kEnd{.site = Site::kOutput};

void check(const Status& status) {
  if (!status.ok()) {
    throw RunError(status.refusal());
  }
}

RunRequest with_options(RunRequest request, const config::OffloadOptions& options) {
  request.options = options;
  return request;
}

}  // namespace

ThroughputArm::ThroughputArm(const RunEnvironment& environment, const RunRequest& base,
                             const config::OffloadOptions& options, const comm::Topology& topology,
                             SharedTensors& tensors)
    : request_(with_options(base, options)),
      config_(config::validate(options, base.parallel).config),
      timeout_(
          static_cast<Nanoseconds>(base.platform.wait_timeout_s * static_cast<double>(kSecond))),
      rank_(environment.world->rank()),
      replica_(static_cast<std::uint32_t>(comm::coordinates_of(topology, rank_).dp)),
      worker_(environment, request_, config_, topology,
              WorkerHooks{.timing = &timing_, .shared_tensors = &tensors}) {}

Status ThroughputArm::start(double timestep) {
  if (auto status = worker_.start(); !status.ok()) {
    return status;
  }
  return worker_.guard("throughput arm", [&]() -> Status {
    const auto parts = worker_.parts();
    // One stage for the whole run: what is resident for a stage comes now.
    if (auto status = parts.backend.begin_request(); !status.ok()) {
      return status;
    }
    for (auto& end : ends_) {
      end = parts.device.create_event();
    }
    const auto traffic = traffic_of_forward();
    std::size_t other_blocks = 0;
    for (const auto* child : parts.model.child_rings()) {
      other_blocks += child->blocks.size();
    }
    timing_.prepare({.blocks = static_cast<std::uint32_t>(parts.model.spec().blocks.size()),
                     .other_blocks = static_cast<std::uint32_t>(other_blocks),
                     .copies = static_cast<std::uint32_t>(traffic.h2d_calls),
                     .gathers = static_cast<std::uint32_t>(traffic.gather_calls)});
    parts.pipeline.prepare_forwards(replica_, timestep);
    output_.resize(parts.pipeline.output(0).size());
    finish();
    return {};
  });
}

void ThroughputArm::await(std::uint32_t forward) {
  auto& device = worker_.parts().device;
  dlo::engine::check(
      device.wait_host(ends_[forward % 2], Deadline::after(clock_.now(), timeout_), kEnd));
}

void ThroughputArm::finish() {
  dlo::engine::check(worker_.parts().device.synchronize(Deadline::after(clock_.now(), timeout_)));
}

void ThroughputArm::run_forwards(std::uint32_t count, const OnEnd& enqueue, const OnEnd& on_end) {
  auto parts = worker_.parts();
  for (std::uint32_t i = 0; i < count; ++i) {
    enqueue(i);
    parts.device.record(ends_[i % 2], StreamKind::kCompute, kEnd);
    worker_.count_forwards(1);
    if (i > 0) {
      await(i - 1);
      on_end(i - 1);
    }
  }
  if (count > 0) {
    await(count - 1);
    on_end(count - 1);
  }
}

Status ThroughputArm::turn(std::uint32_t forwards, std::vector<double>& samples_ms) {
  return worker_.guard("timed forwards", [&]() -> Status {
    auto& pipeline = worker_.parts().pipeline;
    Nanoseconds last = 0;
    run_forwards(
        forwards + 2, [&](std::uint32_t) { pipeline.enqueue_forward(); },
        [&](std::uint32_t forward) {
          const Nanoseconds now = clock_.now();
          if (forward > 0 && forward <= forwards) {
            samples_ms.push_back(static_cast<double>(now - last) /
                                 static_cast<double>(kMillisecond));
          }
          last = now;
        });
    pipeline.enqueue_output(0);
    finish();
    std::memcpy(output_.data(), pipeline.output(0).data(), output_.size());
    return {};
  });
}

Status ThroughputArm::check(std::uint32_t forwards, ConstByteSpan wanted,
                            std::uint32_t& different_count) {
  return worker_.guard("checked forwards", [&]() -> Status {
    auto& pipeline = worker_.parts().pipeline;
    run_forwards(
        forwards,
        [&](std::uint32_t forward) {
          pipeline.enqueue_forward();
          pipeline.enqueue_output(forward % 2);
        },
        [&](std::uint32_t forward) {
          const auto bytes = pipeline.output(forward % 2);
          const bool equal = bytes.size() == wanted.size() &&
                             std::memcmp(bytes.data(), wanted.data(), wanted.size()) == 0;
          different_count += equal ? 0U : 1U;
        });
    finish();
    return {};
  });
}

Status ThroughputArm::trace(telemetry::ForwardTiming& timing) {
  return worker_.guard("traced forward", [&]() -> Status {
    auto& pipeline = worker_.parts().pipeline;
    using Of = telemetry::BlockTiming::Of;
    run_forwards(
        3,
        [&](std::uint32_t forward) {
          if (forward != 1) {
            timing_.start(forward == 0 ? Of::kHost : Of::kStreams);
          }
          pipeline.enqueue_forward();
          timing_.stop();
        },
        [](std::uint32_t) {});
    finish();
    timing = timing_.collect(rank_);
    return {};
  });
}

backend::Traffic ThroughputArm::traffic_of_forward() {
  const auto parts = worker_.parts();
  const auto& by_ring = parts.backend.traffic_plan().per_forward;
  const std::size_t rings = 1 + parts.model.child_rings().size();
  backend::Traffic sum;
  for (std::size_t ring = 0; ring < rings; ++ring) {
    sum += by_ring.at(ring);
  }
  return sum;
}

void ThroughputArm::measure(ArmMeasurement& measured) {
  const auto parts = worker_.parts();
  const auto traffic = traffic_of_forward();
  measured.h2d_bytes_per_forward = traffic.h2d_bytes;
  measured.gather_bytes_per_forward = traffic.gather_bytes;
  auto rings = parts.model.child_rings();
  rings.push_back(&parts.model.spec());
  for (const auto* ring : rings) {
    for (const auto& block : ring->blocks) {
      measured.weight_bytes += contracts::BlockLayout(block).tensor_bytes();
    }
  }
  measured.output_sha256 = sha256_hex(ConstByteSpan(output_.data(), output_.size()));
  measured.rank = worker_.report();
}

ArmToPredict ThroughputArm::to_predict() {
  const auto parts = worker_.parts();
  ArmToPredict arm{worker_.report().effective,
                   static_cast<std::uint32_t>(options().dlo_input_slots),
                   parts.backend.memory_plan().stage_resident_bytes};
  const auto& traffic = parts.backend.traffic_plan().per_forward;
  const auto children = parts.model.child_rings();
  for (std::size_t child = 0; child < children.size(); ++child) {
    if (traffic.at(1 + child).h2d_calls == 0) {
      continue;  // it stays on the device
    }
    for (const auto& block : children[child]->blocks) {
      arm.child_block_bytes.push_back(contracts::BlockLayout(block).bytes());
    }
  }
  return arm;
}

std::vector<std::uint64_t> ThroughputArm::block_bytes() {
  std::vector<std::uint64_t> bytes;
  for (const auto& block : worker_.parts().model.spec().blocks) {
    bytes.push_back(contracts::BlockLayout(block).bytes());
  }
  return bytes;
}

std::uint32_t ThroughputArm::pack_threads() {
  const auto& effective = worker_.parts().backend.effective();
  return effective.transfer == contracts::Transfer::kStaged ? config_.pack_threads : 0;
}

std::uint32_t most_pack_threads(const std::vector<std::unique_ptr<ThroughputArm>>& arms) {
  std::uint32_t most = 0;
  for (const auto& arm : arms) {
    most = std::max(most, arm->pack_threads());
  }
  return most;
}

}  // namespace dlo::engine
