#include "host_weights/seeded_checkpoint/staged_directory.h"

#include <fmt/format.h>

#include <utility>

#include "base/codes.h"

namespace dlo::host_weights {

namespace {

using platform::FileSystem;
using platform::Path;

// "/a/b" for "/a/b/", so that the last part is a name.
Path without_trailing_slash(const Path& path) {
  return path.has_filename() ? path : path.parent_path();
}

Path parent_of(const Path& path) {
  return path.has_parent_path() ? path.parent_path() : Path(".");
}

Status check_target(const FileSystem& files, const Path& target) {
  const auto info = files.stat(target);
  if (!info) {
    return info.refusal().code == codes::kFileNotFound ? Status() : Status(info.refusal());
  }
  if (info->kind != platform::FileKind::kDirectory) {
    return refuse(codes::kFileUnwritable, "the output exists and is not a folder", target.string(),
                  "name a new or an empty folder");
  }
  const auto names = files.list(target);
  if (!names) {
    return names.refusal();
  }
  if (!names->empty()) {
    return refuse(codes::kFileUnwritable,
                  fmt::format("the output folder is not empty: it has '{}'", names->front()),
                  target.string(), "name a new or an empty folder, or remove this one");
  }
  return {};
}

Status check_space(const FileSystem& files, const Path& parent, std::uint64_t needed_bytes) {
  const auto available = files.free_bytes(parent);
  if (!available) {
    return available.refusal();
  }
  if (*available < needed_bytes) {
    return refuse(codes::kFileUnwritable,
                  fmt::format("{} are needed and {} are free on the disk",
                              format_bytes(needed_bytes), format_bytes(*available)),
                  parent.string(), "free space, choose another disk or fewer blocks");
  }
  return {};
}

// Failures to make a folder are failures to write the output, whatever the file system calls them.
Status make_writable(FileSystem& files, const Path& directory) {
  const auto made = files.make_directories(directory);
  if (made) {
    return {};
  }
  Refusal refusal = made.refusal();
  refusal.code = codes::kFileUnwritable;
  return refusal;
}

}  // namespace

Result<StagedDirectory> StagedDirectory::open(FileSystem& files, const Path& target,
                                              std::uint64_t needed_bytes) {
  const Path plain = without_trailing_slash(target);
  if (plain.empty() || plain.filename() == "." || plain.filename() == "..") {
    return refuse(codes::kFileUnwritable, "the output has no name of its own", target.string(),
                  "name a new folder");
  }
  const Path parent = parent_of(plain);
  if (const auto status = check_target(files, plain); !status) {
    return status.refusal();
  }
  if (const auto status = make_writable(files, parent); !status) {
    return status.refusal();
  }
  if (const auto status = check_space(files, parent, needed_bytes); !status) {
    return status.refusal();
  }
  const Path staging = parent / fmt::format(".{}.dlo-partial", plain.filename().string());
  if (const auto status = files.remove_tree(staging); !status) {
    return status.refusal();
  }
  StagedDirectory staged(files, plain, staging);
  if (const auto status = make_writable(files, staging); !status) {
    return status.refusal();
  }
  return staged;
}

StagedDirectory::StagedDirectory(FileSystem& files, Path target, Path staging)
    : files_(&files), target_(std::move(target)), staging_(std::move(staging)) {}

StagedDirectory::StagedDirectory(StagedDirectory&& other) noexcept
    : files_(std::exchange(other.files_, nullptr)),
      target_(std::move(other.target_)),
      staging_(std::move(other.staging_)) {}

StagedDirectory::~StagedDirectory() {
  if (files_ != nullptr) {
    // Nothing can be done about a failure here; the next writer of this target removes it.
    const auto removed = files_->remove_tree(staging_);
    static_cast<void>(removed);
  }
}

Status StagedDirectory::publish() {
  require(files_ != nullptr, "StagedDirectory: published twice");
  if (const auto renamed = files_->rename(staging_, target_); !renamed) {
    return renamed.refusal();
  }
  FileSystem& files = *std::exchange(files_, nullptr);
  return files.sync_directory(parent_of(target_));
}

}  // namespace dlo::host_weights
