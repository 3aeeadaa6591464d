#include "engine/simulation/calibration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "base/codes.h"

namespace dlo::engine {

namespace {

Result<Figure> rate_for(const Calibration& calibration, const LinkCalibration& link,
                        std::string_view what, std::uint32_t ranks) {
  const auto found = link.bytes_per_s.lower_bound(ranks);
  if (found == link.bytes_per_s.end()) {
    std::vector<std::uint32_t> known;
    for (const auto& [count, figure] : link.bytes_per_s) {
      known.push_back(count);
    }
    return refuse(codes::kInvalidValue,
                  fmt::format("no {} rate for {} ranks, only for {}", what, ranks,
                              known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))),
                  fmt::format("calibration '{}'", calibration.name),
                  "measure it and pass --calibration FILE");
  }
  if (found->first == ranks) {
    return found->second;
  }
  return Figure{found->second.value,
                fmt::format("as with {} ranks: {}", found->first, found->second.source),
                Evidence::kExtrapolated};
}

}  // namespace

Result<Figure> Calibration::h2d_rate(std::uint32_t ranks) const {
  return rate_for(*this, h2d, "H2D", ranks);
}

Result<Figure> Calibration::gather_rate(std::uint32_t group_size) const {
  return rate_for(*this, gather, "gather", group_size);
}

}  // namespace dlo::engine
