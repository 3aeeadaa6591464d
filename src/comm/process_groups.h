// Owns: coordinates of a rank in the DP x SP x TP topology and the world ranks of its groups.
// Pure arithmetic, no communication.
// Must not own: communicators or the choice of the weight group (backend).
//
// Order: TP varies fastest, then SP, then DP:  rank = (dp * SP + sp) * TP + tp.
// World 4, DP 2 x SP 2: DP groups {0,2} and {1,3}, SP groups {0,1} and {2,3}.
#pragma once

#include <vector>

#include "base/result.h"

namespace dlo::comm {

struct Topology {
  int dp = 1;
  int sp = 1;
  int tp = 1;

  [[nodiscard]] int size() const { return dp * sp * tp; }
  friend bool operator==(const Topology&, const Topology&) = default;
};

struct Coordinates {
  int dp = 0;
  int sp = 0;
  int tp = 0;

  friend bool operator==(const Coordinates&, const Coordinates&) = default;
};

// Preconditions: 0 <= rank < topology.size().
[[nodiscard]] Coordinates coordinates_of(const Topology& topology, int rank);
[[nodiscard]] int rank_of(const Topology& topology, const Coordinates& coordinates);

// World ranks that share all coordinates of `rank` but the named one, in order of that one.
[[nodiscard]] std::vector<int> dp_group(const Topology& topology, int rank);
[[nodiscard]] std::vector<int> sp_group(const Topology& topology, int rank);
[[nodiscard]] std::vector<int> tp_group(const Topology& topology, int rank);

}  // namespace dlo::comm
