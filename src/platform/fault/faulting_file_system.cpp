#include "platform/fault/faulting_file_system.h"

#include <utility>

namespace dlo::platform {

namespace {

constexpr std::string_view kFolder = "folder";

class FaultingWritableFile : public WritableFile {
 public:
  FaultingWritableFile(std::unique_ptr<WritableFile> inner, FaultInjector& injector, Path path)
      : inner_(std::move(inner)), injector_(&injector), path_(std::move(path)) {}

  [[nodiscard]] Status write_at(std::uint64_t offset_bytes, ConstByteSpan bytes) override {
    const auto status = strike(SeamCall::kFileWrite);
    return status.ok() ? inner_->write_at(offset_bytes, bytes) : status;
  }
  [[nodiscard]] Status sync() override {
    const auto status = strike(SeamCall::kFileSync);
    return status.ok() ? inner_->sync() : status;
  }
  [[nodiscard]] Status close() override {
    // As with close(2): the descriptor is gone whatever it says.
    const auto closed = inner_->close();
    const auto status = strike(SeamCall::kFileClose);
    return status.ok() ? closed : status;
  }

 private:
  [[nodiscard]] Status strike(SeamCall call) {
    auto refusal = injector_->strike(call, file_role(path_), path_.string());
    return refusal ? Status(*std::move(refusal)) : Status();
  }

  std::unique_ptr<WritableFile> inner_;
  FaultInjector* injector_;
  Path path_;
};

}  // namespace

Result<FileInfo> FaultingFileSystem::stat(const Path& path) const {
  const auto status = strike(SeamCall::kFileStat, path, file_role(path));
  return status.ok() ? inner_->stat(path) : Result<FileInfo>(status.refusal());
}

Result<std::vector<std::string>> FaultingFileSystem::list(const Path& directory) const {
  const auto status = strike(SeamCall::kFileList, directory, kFolder);
  return status.ok() ? inner_->list(directory) : Result<std::vector<std::string>>(status.refusal());
}

// A look at a name, as stat is.
Result<Path> FaultingFileSystem::read_link(const Path& path) const {
  const auto status = strike(SeamCall::kFileStat, path, file_role(path));
  return status.ok() ? inner_->read_link(path) : Result<Path>(status.refusal());
}

Result<std::unique_ptr<MappedFile>> FaultingFileSystem::map_read_only(const Path& path) const {
  hold_up();
  const auto status = strike(SeamCall::kFileMap, path, file_role(path));
  return status.ok() ? inner_->map_read_only(path)
                     : Result<std::unique_ptr<MappedFile>>(status.refusal());
}

Result<std::string> FaultingFileSystem::read_text(const Path& path,
                                                  std::uint64_t limit_bytes) const {
  hold_up();
  const auto status = strike(SeamCall::kFileRead, path, file_role(path));
  return status.ok() ? inner_->read_text(path, limit_bytes) : Result<std::string>(status.refusal());
}

Result<std::unique_ptr<WritableFile>> FaultingFileSystem::create(const Path& path) {
  if (const auto status = strike(SeamCall::kFileCreate, path, file_role(path)); !status.ok()) {
    return status.refusal();
  }
  auto made = inner_->create(path);
  if (!made.ok()) {
    return made.refusal();
  }
  return std::unique_ptr<WritableFile>(
      std::make_unique<FaultingWritableFile>(std::move(made).value(), *injector_, path));
}

Status FaultingFileSystem::make_directories(const Path& directory) {
  const auto status = strike(SeamCall::kFileMakeDirectories, directory, kFolder);
  return status.ok() ? inner_->make_directories(directory) : status;
}

Status FaultingFileSystem::rename(const Path& from, const Path& to) {
  const auto status = strike(SeamCall::kFileRename, from, file_role(from));
  return status.ok() ? inner_->rename(from, to) : status;
}

Status FaultingFileSystem::remove_file(const Path& path) {
  const auto status = strike(SeamCall::kFileRemove, path, file_role(path));
  return status.ok() ? inner_->remove_file(path) : status;
}

Status FaultingFileSystem::remove_tree(const Path& path) {
  const auto status = strike(SeamCall::kFileRemoveTree, path, kFolder);
  return status.ok() ? inner_->remove_tree(path) : status;
}

Status FaultingFileSystem::sync_directory(const Path& directory) {
  const auto status = strike(SeamCall::kFileSyncDirectory, directory, kFolder);
  return status.ok() ? inner_->sync_directory(directory) : status;
}

Result<std::uint64_t> FaultingFileSystem::free_bytes(const Path& path) const {
  const auto status = strike(SeamCall::kFileFreeBytes, path, kFolder);
  return status.ok() ? inner_->free_bytes(path) : Result<std::uint64_t>(status.refusal());
}

Status FaultingFileSystem::strike(SeamCall call, const Path& path, std::string_view role) const {
  auto refusal = injector_->strike(call, role, path.string());
  return refusal ? Status(*std::move(refusal)) : Status();
}

void FaultingFileSystem::hold_up() const {
  if (slow_.clock != nullptr && slow_.delay > 0) {
    slow_.clock->sleep(slow_.delay);
  }
}

}  // namespace dlo::platform
