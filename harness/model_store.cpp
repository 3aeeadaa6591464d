#include "harness/model_store.h"

#include <fmt/format.h>

#include "host_weights/seeded_checkpoint/seeded_checkpoint.h"

namespace dlo::harness {
namespace {

// The 14B preset is 28 GB; a slow disk takes some minutes. A dead rank 0 ends the wait earlier.
constexpr Nanoseconds kGenerateTimeout = 3600 * kSecond;

// The schema has read the name already.
host_weights::StoredDType stored_dtype(const ModelChoice& model) {
  if (model.generated->stored_dtype) {
    return host_weights::parse_stored_dtype(*model.generated->stored_dtype).value();
  }
  if (model.dtype != DType::kBF16) {
    return host_weights::StoredDType::kF32;
  }
  return model.keep_fp32_modules ? host_weights::StoredDType::kMixed
                                 : host_weights::StoredDType::kBF16;
}

std::string folder_name(const ModelChoice& model) {
  const GeneratedModel& generated = *model.generated;
  const std::string blocks =
      generated.blocks.has_value() ? fmt::format("-{}blocks", *generated.blocks) : "";
  return fmt::format("{}{}-seed{}-{}", generated.preset, blocks, generated.seed,
                     host_weights::stored_dtype_name(stored_dtype(model)));
}

}  // namespace

ModelStore::ModelStore(const ModelStoreSeams& seams, platform::Path scratch)
    : seams_(seams), scratch_(std::move(scratch)) {}

Result<platform::Path> ModelStore::prepare(const ModelChoice& model) {
  if (!model.generated.has_value()) {
    return model.folder;
  }
  const platform::Path folder = scratch_ / folder_name(model);
  const Status made = seams_.world.rank() == 0 ? generate(model, folder) : Status{};
  const Status agreed = comm::vote(seams_.world.control(), "checkpoint", made,
                                   Deadline::after(seams_.clock.now(), kGenerateTimeout));
  if (!agreed) {
    return agreed.refusal();
  }
  return folder;
}

Status ModelStore::generate(const ModelChoice& model, const platform::Path& folder) {
  // A folder appears whole or not at all, so one that is there is from an earlier scenario.
  if (seams_.files.stat(folder).ok()) {
    return {};
  }
  if (Status made = seams_.files.make_directories(scratch_); !made) {
    return made;
  }
  host_weights::SeededCheckpointOptions options;
  options.preset = model.generated->preset;
  options.blocks = model.generated->blocks;
  options.seed = model.generated->seed;
  options.dtype = stored_dtype(model);
  options.out = folder;
  auto report = host_weights::create_seeded_checkpoint(seams_.files, seams_.executor, options);
  return report.ok() ? Status{} : Status{report.refusal()};
}

Status ModelStore::clean() {
  return seams_.world.rank() == 0 ? seams_.files.remove_tree(scratch_) : Status{};
}

}  // namespace dlo::harness
