#include "platform/file_system.h"

#include <fmt/format.h>

#include "base/codes.h"

namespace dlo::platform {

namespace {

// More leftovers than this beside one file are not the work of crashes.
constexpr int kTemporaryNames = 64;

Status write_and_rename(FileSystem& files, TemporaryFile& temporary, const Path& path,
                        const std::string& text) {
  const ConstByteSpan bytes = std::as_bytes(std::span(text));
  if (Status written = temporary.file->write_at(0, bytes); !written.ok()) {
    return written;
  }
  if (Status synced = temporary.file->sync(); !synced.ok()) {
    return synced;
  }
  if (Status closed = temporary.file->close(); !closed.ok()) {
    return closed;
  }
  return files.rename(temporary.path, path);
}

}  // namespace

Result<TemporaryFile> create_sibling(FileSystem& files, const Path& path) {
  for (int i = 0; i < kTemporaryNames; ++i) {
    const Path candidate = path.string() + fmt::format(".tmp{}", i);
    if (files.stat(candidate).ok()) {
      continue;
    }
    auto file = files.create(candidate);
    if (file.ok()) {
      return TemporaryFile{candidate, std::move(*file)};
    }
    // Another writer may have been quicker; anything else is final.
    if (!files.stat(candidate).ok()) {
      return file.refusal();
    }
  }
  return refuse(codes::kFileUnwritable, "too many temporary files beside it", path.string(),
                "remove the files ending in .tmp0, .tmp1, ...");
}

Status write_text_atomically(FileSystem& files, const Path& path, const std::string& text) {
  auto temporary = create_sibling(files, path);
  if (!temporary.ok()) {
    return temporary.refusal();
  }
  if (Status renamed = write_and_rename(files, *temporary, path, text); !renamed.ok()) {
    // The first refusal counts; a temporary file that cannot be removed either is only litter.
    static_cast<void>(files.remove_file(temporary->path).ok());
    return renamed;
  }
  return files.sync_directory(path.has_parent_path() ? path.parent_path() : Path("."));
}

}  // namespace dlo::platform
