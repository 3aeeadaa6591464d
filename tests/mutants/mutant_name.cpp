#include "tests/mutants/mutant_name.h"

namespace dlo::test {

const char* mutant_name() {
  return DLO_MUTANT;
}

}  // namespace dlo::test
