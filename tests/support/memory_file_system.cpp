#include "tests/support/memory_file_system.h"

#include <algorithm>

#include "base/codes.h"

namespace dlo::test_support {

namespace {

using platform::FileInfo;
using platform::FileKind;
using platform::Path;

// As Linux gives up following symlinks.
constexpr int kMostSymlinks = 40;

Refusal no_such_file(const Path& path) {
  return refuse(codes::kFileNotFound, "look up failed: ENOENT", path.string(), "check the path");
}

Refusal unreadable(const std::string& errno_name, const Path& path) {
  return refuse(codes::kFileUnreadable, "open failed: " + errno_name, path.string(),
                "check the path and its permissions");
}

Refusal unwritable(const std::string& errno_name, const Path& path) {
  return refuse(codes::kFileUnwritable, "write failed: " + errno_name, path.string(),
                "check the path and its permissions");
}

Path node_path(const Path& path) {
  const Path whole = (Path("/") / path).lexically_normal();
  return whole.has_filename() || whole == "/" ? whole : whole.parent_path();
}

// True for `root` itself and everything below it.
bool lies_in(const Path& path, const Path& root) {
  const auto ends = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  return ends.first == root.end();
}

class MemoryMappedFile : public platform::MappedFile {
 public:
  MemoryMappedFile(Path path, std::shared_ptr<MemoryFileSystem::Content> content)
      : path_(std::move(path)), content_(std::move(content)) {}

  ConstByteSpan bytes() const override { return std::as_bytes(std::span(content_->bytes)); }
  FileInfo info() const override { return FileInfo{FileKind::kRegular, content_->bytes.size()}; }
  const Path& path() const override { return path_; }
  bool truncated() const override {
    const std::lock_guard lock(content_->mutex);
    return content_->truncated;
  }

 private:
  Path path_;
  std::shared_ptr<MemoryFileSystem::Content> content_;
};

class MemoryWritableFile : public platform::WritableFile {
 public:
  MemoryWritableFile(MemoryFileSystem& files, Path path,
                     std::shared_ptr<MemoryFileSystem::Content> content)
      : files_(files), path_(std::move(path)), content_(std::move(content)) {}

  Status write_at(std::uint64_t offset_bytes, ConstByteSpan bytes) override {
    if (auto status = files_.note_change(path_); !status.ok()) {
      return status;
    }
    const std::lock_guard lock(content_->mutex);
    if (content_->bytes.size() < offset_bytes + bytes.size()) {
      content_->bytes.resize(offset_bytes + bytes.size());
    }
    std::transform(bytes.begin(), bytes.end(),
                   content_->bytes.begin() + static_cast<std::ptrdiff_t>(offset_bytes),
                   [](std::byte byte) { return std::to_integer<char>(byte); });
    return {};
  }
  Status sync() override { return files_.note_change(path_); }
  Status close() override { return files_.note_change(path_); }

 private:
  MemoryFileSystem& files_;
  Path path_;
  std::shared_ptr<MemoryFileSystem::Content> content_;
};

}  // namespace

// ---- Set-up and observation -----------------------------------------------------------------

void MemoryFileSystem::add_parents(const Path& path) {
  for (Path parent = path.parent_path(); directories_.insert(parent).second;) {
    parent = parent.parent_path();
  }
}

void MemoryFileSystem::put(const Path& path, std::string bytes) {
  const std::lock_guard lock(mutex_);
  auto content = std::make_shared<Content>();
  content->bytes = std::move(bytes);
  add_parents(node_path(path));
  files_[node_path(path)] = std::move(content);
}

void MemoryFileSystem::put_directory(const Path& path) {
  const std::lock_guard lock(mutex_);
  add_parents(node_path(path));
  directories_.insert(node_path(path));
}

void MemoryFileSystem::put_symlink(const Path& path, const Path& target) {
  const std::lock_guard lock(mutex_);
  add_parents(node_path(path));
  symlinks_[node_path(path)] = target;
}

void MemoryFileSystem::set_unreadable(const Path& path) {
  const std::lock_guard lock(mutex_);
  unreadable_.insert(node_path(path));
}

void MemoryFileSystem::truncate(const Path& path, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  auto& file = files_.at(node_path(path));
  const auto content = file;  // lives on for the mappings
  auto shorter = std::make_shared<Content>();
  const std::lock_guard content_lock(content->mutex);
  shorter->bytes = content->bytes.substr(0, bytes);
  std::fill(content->bytes.begin() + static_cast<std::ptrdiff_t>(shorter->bytes.size()),
            content->bytes.end(), '\0');
  content->truncated = true;
  file = shorter;
}

void MemoryFileSystem::fail_change(std::size_t n) {
  const std::lock_guard lock(mutex_);
  failing_change_ = changes_ + n;
}

std::optional<std::string> MemoryFileSystem::contents(const Path& path) const {
  const std::lock_guard lock(mutex_);
  const auto content = readable(path);
  return content.ok() ? std::optional((*content)->bytes) : std::nullopt;
}

std::vector<std::string> MemoryFileSystem::all_files() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [path, content] : files_) {
    names.push_back(path.string());
  }
  return names;
}

std::size_t MemoryFileSystem::change_count() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

Status MemoryFileSystem::note_change(const Path& path) {
  const std::lock_guard lock(mutex_);
  return count_change(path);
}

Status MemoryFileSystem::count_change(const Path& path) {
  return ++changes_ == failing_change_ ? Status(unwritable("EIO", path)) : Status();
}

// ---- Reading --------------------------------------------------------------------------------

Result<Path> MemoryFileSystem::resolve(const Path& path) const {
  Path whole = node_path(path);
  for (int followed = 0; followed <= kMostSymlinks; ++followed) {
    const auto link = std::find_if(symlinks_.begin(), symlinks_.end(),
                                   [&](const auto& entry) { return lies_in(whole, entry.first); });
    if (link == symlinks_.end()) {
      return whole;
    }
    const Path target = node_path(link->first.parent_path() / link->second);
    whole = node_path(target / whole.lexically_relative(link->first));
  }
  return unreadable("ELOOP", path);
}

bool MemoryFileSystem::is_directory(const Path& resolved) const {
  return directories_.contains(resolved);
}

Result<MemoryFileSystem::ContentPtr> MemoryFileSystem::readable(const Path& path) const {
  const auto resolved = resolve(path);
  if (!resolved.ok()) {
    return resolved.refusal();
  }
  if (unreadable_.contains(*resolved)) {
    return unreadable("EACCES", path);
  }
  if (is_directory(*resolved)) {
    return unreadable("EISDIR", path);
  }
  const auto found = files_.find(*resolved);
  if (found == files_.end()) {
    return no_such_file(path);
  }
  return found->second;
}

Result<FileInfo> MemoryFileSystem::stat(const Path& path) const {
  const std::lock_guard lock(mutex_);
  const auto resolved = resolve(path);
  if (!resolved.ok()) {
    return resolved.refusal();
  }
  if (is_directory(*resolved)) {
    return FileInfo{FileKind::kDirectory};
  }
  const auto found = files_.find(*resolved);
  if (found == files_.end()) {
    return no_such_file(path);
  }
  return FileInfo{FileKind::kRegular, found->second->bytes.size()};
}

Result<std::vector<std::string>> MemoryFileSystem::list(const Path& directory) const {
  const std::lock_guard lock(mutex_);
  const auto resolved = resolve(directory);
  if (!resolved.ok()) {
    return resolved.refusal();
  }
  if (unreadable_.contains(*resolved)) {
    return unreadable("EACCES", directory);
  }
  if (!is_directory(*resolved)) {
    return files_.contains(*resolved) ? unreadable("ENOTDIR", directory) : no_such_file(directory);
  }
  std::set<std::string> names;
  const auto add = [&](const Path& path) {
    if (path.parent_path() == *resolved && path != *resolved) {
      names.insert(path.filename().string());
    }
  };
  std::for_each(files_.begin(), files_.end(), [&](const auto& entry) { add(entry.first); });
  std::for_each(symlinks_.begin(), symlinks_.end(), [&](const auto& entry) { add(entry.first); });
  std::for_each(directories_.begin(), directories_.end(), add);
  return std::vector<std::string>(names.begin(), names.end());
}

Result<Path> MemoryFileSystem::read_link(const Path& path) const {
  const std::lock_guard lock(mutex_);
  const Path whole = node_path(path);
  const auto folder = resolve(whole.parent_path());
  if (!folder.ok()) {
    return folder.refusal();
  }
  const Path resolved = *folder / whole.filename();
  if (const auto link = symlinks_.find(resolved); link != symlinks_.end()) {
    return link->second;
  }
  const bool is_there = files_.contains(resolved) || is_directory(resolved);
  return is_there ? unreadable("EINVAL", path) : no_such_file(path);
}

Result<std::unique_ptr<platform::MappedFile>> MemoryFileSystem::map_read_only(
    const Path& path) const {
  const std::lock_guard lock(mutex_);
  const auto content = readable(path);
  if (!content.ok()) {
    return content.refusal();
  }
  return std::unique_ptr<platform::MappedFile>(std::make_unique<MemoryMappedFile>(path, *content));
}

Result<std::string> MemoryFileSystem::read_text(const Path& path, std::uint64_t limit_bytes) const {
  const std::lock_guard lock(mutex_);
  const auto content = readable(path);
  if (!content.ok()) {
    return content.refusal();
  }
  if ((*content)->bytes.size() > limit_bytes) {
    return unreadable("EFBIG", path);
  }
  return (*content)->bytes;
}

// ---- Changing -------------------------------------------------------------------------------

Result<std::unique_ptr<platform::WritableFile>> MemoryFileSystem::create(const Path& path) {
  const std::lock_guard lock(mutex_);
  if (const auto status = count_change(path); !status.ok()) {
    return status.refusal();
  }
  const auto whole = node_path(path);
  if (files_.contains(whole) || is_directory(whole) || symlinks_.contains(whole)) {
    return unwritable("EEXIST", path);
  }
  if (!is_directory(whole.parent_path())) {
    return no_such_file(path.parent_path());
  }
  const auto content = files_[whole] = std::make_shared<Content>();
  return std::unique_ptr<platform::WritableFile>(
      std::make_unique<MemoryWritableFile>(*this, path, content));
}

Status MemoryFileSystem::make_directories(const Path& directory) {
  const std::lock_guard lock(mutex_);
  if (auto status = count_change(directory); !status.ok()) {
    return status;
  }
  if (files_.contains(node_path(directory))) {
    return unwritable("EEXIST", directory);
  }
  add_parents(node_path(directory));
  directories_.insert(node_path(directory));
  return {};
}

Status MemoryFileSystem::rename(const Path& from, const Path& to) {
  const std::lock_guard lock(mutex_);
  if (auto status = count_change(from); !status.ok()) {
    return status;
  }
  const auto old_root = node_path(from);
  const auto new_root = node_path(to);
  if (is_directory(old_root)) {
    if (files_.contains(new_root) || is_directory(new_root)) {
      return unwritable("ENOTEMPTY", to);
    }
    std::map<Path, ContentPtr> files;
    std::set<Path> directories;
    const auto moved = [&](const Path& path) {
      return lies_in(path, old_root) ? node_path(new_root / path.lexically_relative(old_root))
                                     : path;
    };
    for (const auto& [path, content] : files_) {
      files[moved(path)] = content;
    }
    for (const auto& path : directories_) {
      directories.insert(moved(path));
    }
    files_ = std::move(files);
    directories_ = std::move(directories);
    return {};
  }
  auto node = files_.extract(old_root);
  if (node.empty()) {
    return no_such_file(from);
  }
  files_[new_root] = node.mapped();
  return {};
}

Status MemoryFileSystem::remove_file(const Path& path) {
  const std::lock_guard lock(mutex_);
  if (auto status = count_change(path); !status.ok()) {
    return status;
  }
  const auto whole = node_path(path);
  return files_.erase(whole) + symlinks_.erase(whole) > 0 ? Status() : Status(no_such_file(path));
}

Status MemoryFileSystem::remove_tree(const Path& path) {
  const std::lock_guard lock(mutex_);
  if (auto status = count_change(path); !status.ok()) {
    return status;
  }
  const auto whole = node_path(path);
  std::erase_if(files_, [&](const auto& entry) { return lies_in(entry.first, whole); });
  std::erase_if(symlinks_, [&](const auto& entry) { return lies_in(entry.first, whole); });
  std::erase_if(directories_, [&](const auto& entry) { return lies_in(entry, whole); });
  return {};
}

Status MemoryFileSystem::sync_directory(const Path& directory) {
  const std::lock_guard lock(mutex_);
  return count_change(directory);
}

Result<std::uint64_t> MemoryFileSystem::free_bytes(const Path&) const {
  return std::uint64_t{1} << 40U;
}

}  // namespace dlo::test_support
