#include "platform/fault/faulting_file_system.h"

namespace dlo::platform {

Result<FileInfo> FaultingFileSystem::stat(const Path& path) const {
  if (auto refusal = injector_->strike(SeamCall::kFileStat, path.string())) {
    return *std::move(refusal);
  }
  return inner_->stat(path);
}

Result<std::vector<std::string>> FaultingFileSystem::list(const Path& directory) const {
  if (auto refusal = injector_->strike(SeamCall::kFileList, directory.string())) {
    return *std::move(refusal);
  }
  return inner_->list(directory);
}

Result<std::unique_ptr<MappedFile>> FaultingFileSystem::map_read_only(const Path& path) const {
  hold_up();
  if (auto refusal = injector_->strike(SeamCall::kFileMap, path.string())) {
    return *std::move(refusal);
  }
  return inner_->map_read_only(path);
}

Result<std::string> FaultingFileSystem::read_text(const Path& path,
                                                  std::uint64_t limit_bytes) const {
  hold_up();
  if (auto refusal = injector_->strike(SeamCall::kFileRead, path.string())) {
    return *std::move(refusal);
  }
  return inner_->read_text(path, limit_bytes);
}

void FaultingFileSystem::hold_up() const {
  if (slow_.clock != nullptr && slow_.delay > 0) {
    slow_.clock->sleep(slow_.delay);
  }
}

}  // namespace dlo::platform
