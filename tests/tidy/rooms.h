// The rooms and what may enter them (the table of the README), checked three ways: includes, link
// lists in CMake, and raw calls that belong below a seam.
// Owns: the table. Must not own: anything about the text of a file (text_rules.h).
// Pure functions of a SourceTree; nothing throws but for want of memory.
#pragma once

#include "tests/tidy/source_tree.h"

namespace dlo::tidy {

// Includes of a room that may not enter, of libtorch outside its rooms, of paths not rooted.
[[nodiscard]] Violations check_includes(const SourceTree& tree);
// dlo_add_library in src/: DEPENDS names only libraries of rooms that may enter.
[[nodiscard]] Violations check_link_lists(const SourceTree& tree);
// cuda*, nccl*, MPI_*, mmap, open, flock, threads, sleeps and clocks above a seam.
[[nodiscard]] Violations check_raw_calls(const SourceTree& tree);

}  // namespace dlo::tidy
