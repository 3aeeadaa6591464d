// Owns: which mutant a program is linked against, so that a test is compiled once for all of them.
// Must not own: what the mutant changes; its patch does.
// The name is set by DloMutants.cmake, one source a mutant.
#pragma once

namespace dlo::test {

// The name of the patch, without .patch.
const char* mutant_name();

}  // namespace dlo::test
