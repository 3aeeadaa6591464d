// Owns: tiny_run, the smallest request that the engine serves from a small checkpoint, for tests of
// the engine on threads, processes and GPUs.
// Must not own: options, topology-dependent counts or platforms: each test sets its own.
// Pure; header only.
#pragma once

#include <cstdint>
#include <utility>

#include "engine/run_report.h"

namespace dlo::test_support {

inline engine::RunRequest tiny_run(platform::Path checkpoint, std::int64_t dp) {
  engine::RunRequest request;
  request.name = "tiny";
  request.model.checkpoint = std::move(checkpoint);
  request.parallel.data_parallel_size = dp;
  request.requests.latent_height = 4;
  request.requests.latent_width = 6;
  request.requests.text_tokens = 4;
  request.platform.wait_timeout_s = 20;
  return request;
}

}  // namespace dlo::test_support
