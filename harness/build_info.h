// Owns: what this program was built from: commit, compiler, build type, libraries. Ranks agree on
// it before anything runs, results carry it, `dlo --version` prints it.
// Must not own: what the machine can do (doctor.h). The values are generated at build time.
#pragma once

#include <string>
#include <string_view>

#include "harness/json.h"

namespace dlo::harness {

// `git describe --always --dirty` of the sources at build time; "unknown" outside a repository.
[[nodiscard]] std::string_view commit_text();

// {version, type, compiler, torch, mpi, sanitizers}.
[[nodiscard]] Json build_info();

// SHA-256 over commit and build; equal programs have equal digests.
[[nodiscard]] std::string build_digest();

// Several lines: version, commit, and which capabilities the build has.
[[nodiscard]] std::string version_text();

}  // namespace dlo::harness
