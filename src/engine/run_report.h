// Owns: the plain values between harness and engine: RunRequest (one scenario instance) and
// RunReport (what every rank really did and measured).
// Must not own: scenario files, matrix expansion, comparison between runs, report text (harness).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/refusal.h"
#include "comm/process_groups.h"
#include "config/offload_options.h"
#include "config/parallel_config.h"
#include "contracts/effective_transfer.h"
#include "engine/throughput_spec.h"
#include "platform/fault/crash_device.h"
#include "platform/fault/fault_plan.h"
#include "platform/file_system.h"
#include "telemetry/process_resources.h"

namespace dlo::engine {

// The work of one run. Request i has its own latents and text states, drawn from (seed, i) alone,
// so its output does not depend on the topology that served it.
struct RequestSpec {
  std::uint32_t count = 1;          // requests
  std::uint32_t steps = 2;          // denoising steps
  double guidance_scale = 5.0;      // above 1: two walks of the ring a step (CFG)
  std::uint32_t latent_frames = 1;  // latent grid
  std::uint32_t latent_height = 8;
  std::uint32_t latent_width = 8;
  std::uint32_t text_tokens = 16;  // rows of text states; a prompt is filled up to them
  std::uint64_t seed = 0;
  // A prompt, which the checkpoint's text encoder turns into states: these token ids for every
  // request, or this many for each, drawn from (seed, i). Neither: states are seeded.
  std::vector<std::int64_t> prompt_tokens = {};
  std::uint32_t prompt_token_count = 0;

  [[nodiscard]] bool has_prompt() const { return !prompt_tokens.empty() || prompt_token_count > 0; }
};

struct ModelSpec {
  platform::Path checkpoint;          // diffusers folder (with model_index.json)
  DType runtime_dtype = DType::kF32;  // F32 or BF16: dtype of the weights at run time
  bool keep_fp32_modules = true;      // with BF16: diffusers' fp32 modules stay F32
  DType compute_dtype = DType::kF32;  // arithmetic
  std::string attention = "plain";    // or "fused": bytes are compared within one backend only
  bool fused_projections = false;     // q, k, v of one input are one tensor, as vllm-omni has them
};

struct PlatformSpec {
  std::string device = "cpu";   // or "cuda"
  bool share_devices = false;   // ranks may outnumber accelerators
  std::string gather = "nccl";  // on cuda: or "copy_engine", which spares the SMs; one node only
  int nccl_max_ctas = 0;        // thread blocks of a collective at most; 0: NCCL's own choice
  int nccl_cluster_size = -1;   // thread blocks that start together; -1: NCCL's own choice
  std::optional<std::uint64_t> device_budget_bytes;  // imposed limit on device memory
  std::optional<std::uint64_t> pinned_budget_bytes;  // imposed limit on pinned memory
  std::optional<int> pin_fails_on_rank;              // this rank's pinned allocations are refused
  std::uint64_t slow_copy_ns = 0;                    // each H2D copy takes at least this long
  std::uint64_t slow_file_ns = 0;                    // each file read takes this much longer
  std::optional<int> slow_copy_on_rank;              // none: on every rank
  std::uint64_t slow_gather_ns = 0;                  // each gather takes at least this long
  std::optional<int> slow_gather_on_rank;            // none: on every rank
  std::optional<int> schedule_differs_on_rank;       // this rank lays its blocks out another way
  platform::FaultPlan faults;                        // seam calls that fail
  std::optional<platform::CrashFault> crash;         // a rank that dies or stops
  double wait_timeout_s = 30.0;                      // deadline of every host wait and collective
};

struct RunRequest {
  std::string name;
  ModelSpec model;
  config::OffloadOptions options;
  config::ParallelConfig parallel;
  RequestSpec requests;
  PlatformSpec platform;
  // Set: forwards of several arms are timed in place of serving requests; `options` are those of
  // the first arm.
  std::optional<ThroughputSpec> throughput;
  // All ranks of the world hold what they served from while each measures its process: a page that
  // two of them share counts half in each only as long as both have it.
  bool measure_together = false;
};

enum class Outcome : std::uint8_t { kRuns, kRejected, kFallsBack, kFailsClosed };

struct RequestDigest {
  std::uint32_t request = 0;
  std::string sha256;  // of the final latents' bytes
};

// Bytes that this rank owns, from the platform's books.
struct OwnedBytes {
  std::uint64_t host_private_now = 0;  // pageable + pinned weights that this rank holds
  std::uint64_t host_private_peak = 0;
  std::uint64_t pinned_now = 0;
  std::uint64_t pinned_peak = 0;
  std::uint64_t device_now = 0;
  std::uint64_t device_peak = 0;
  std::uint64_t device_in_host = 0;      // device memory that is this process's own: of a CPU
  std::uint64_t device_limit = 0;        // what invariant I4 allows
  std::uint64_t host_private_limit = 0;  // what the mode promises, staging and components too
  // Of the device bytes: components beside the DiTs. Peaks of purposes are added up, so one that
  // is never there together with leading blocks counts beside them all the same, in the limit too.
  std::uint64_t component_now = 0;
  std::uint64_t component_peak = 0;
};

// From /proc/self/smaps_rollup.
struct ProcessMemory {
  std::uint64_t rss_bytes = 0;
  std::uint64_t pss_bytes = 0;
  std::uint64_t private_dirty_bytes = 0;
  std::uint64_t shared_clean_bytes = 0;
  std::uint64_t pss_file_bytes = 0;
};

// A checkpoint file that was mapped; ranks that show equal numbers share its pages.
struct BackingFile {
  std::string path;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  friend bool operator==(const BackingFile&, const BackingFile&) = default;
};

// Copy ledger against the plan (I3): counts over the whole run and what the plan says they are.
struct TrafficLedger {
  std::uint64_t h2d_calls = 0;
  std::uint64_t h2d_bytes = 0;
  std::uint64_t h2d_bytes_planned = 0;
  std::uint64_t gather_calls = 0;
  std::uint64_t gather_bytes = 0;  // (W-1)/W of the padded total: received from peers
  std::uint64_t gather_bytes_planned = 0;
  std::uint64_t forward_count = 0;
  // Blocks that were not there when they ran: rings that take turns on the slots (Wan 2.2's two
  // DiTs), skipped blocks. What was loaded for them is in the plan. 0 of any other run.
  std::uint64_t repairs = 0;

  [[nodiscard]] bool matches_plan() const {
    return h2d_bytes == h2d_bytes_planned && gather_bytes == gather_bytes_planned;
  }
};

// What the rank's process held around a run: engine/resource_watch.h.
struct ResourceChange {
  telemetry::ProcessResources before;
  telemetry::ProcessResources after;
};

struct ThroughputReport;  // engine/throughput_report.h

struct RankReport {
  int rank = 0;
  comm::Coordinates coordinates;
  contracts::EffectiveTransfer effective;
  OwnedBytes owned;
  ProcessMemory baseline;          // before any weight was loaded
  ProcessMemory process;           // after the last forward
  std::uint64_t weight_bytes = 0;  // of the model's tensors, unpadded
  std::vector<BackingFile> mapped_files;
  TrafficLedger traffic;
  std::vector<RequestDigest> outputs;  // requests that this rank answered
  std::vector<double> forward_ms;      // wall time of each forward on this rank
  std::vector<std::string> events;     // start-up and shut-down steps in recorded order

  // How this rank alone ended: empty when it did what was asked, whatever became of others.
  std::string code;
  std::string message;
  std::vector<int> weight_group;            // world ranks that share its weights; empty: nobody
  std::string gather;                       // who gathers: RankPlatform::gather()
  std::uint64_t fault_count = 0;            // calls that the fault plan let fail here
  std::optional<ResourceChange> resources;  // none when nobody could count
  // disable() met a stream that was still busy and gave its buffers to the process on purpose.
  bool abandoned_buffers = false;
  // Of a throughput run that got to its end; the rest of the report is then the first arm's.
  std::shared_ptr<const ThroughputReport> throughput;
};

// The same on every rank that took part, except `ranks`, which only world rank 0 fills.
struct RunReport {
  Outcome outcome = Outcome::kRuns;
  std::string code;                 // refusal or first downgrade; empty for kRuns
  std::string message;              // one line for people
  std::vector<Refusal> violations;  // all rules that rejected the run
  std::string output_digest;        // SHA-256 over all requests' digests in order
  std::vector<RankReport> ranks;
  // This rank's own, also when ranks could not be merged; none outside the topology.
  std::optional<RankReport> own;
  // False when ranks could not agree any more (a peer is gone): start nothing further, end the job.
  bool world_usable = true;
};

}  // namespace dlo::engine
