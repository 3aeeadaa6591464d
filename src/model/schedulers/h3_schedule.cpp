#include "model/schedulers/h3_schedule.h"

#include "base/error.h"

namespace dlo::model {

namespace {

// Point `index` of the even grid from 1 to 0, in fp32 from the nearer end, as torch makes it.
float grid_point(std::size_t index, std::size_t last) {
  const float step = -1.0F / static_cast<float>(last);
  return index < (last + 1) / 2 ? 1.0F + step * static_cast<float>(index)
                                : -step * static_cast<float>(last - index);
}

}  // namespace

H3Schedule make_h3_schedule(double shift, std::size_t step_count) {
  require(step_count > 0, "a schedule needs a step");
  require(shift > 0.0, "the shift of a schedule is above 0");
  const auto factor = static_cast<float>(shift);
  H3Schedule schedule;
  for (std::size_t i = 0; i <= step_count; ++i) {
    const float base = grid_point(i, step_count);
    schedule.sigmas.push_back(factor * base / (1.0F + (factor - 1.0F) * base));
  }
  for (std::size_t i = 0; i < step_count; ++i) {
    schedule.timesteps.push_back(1.0F - schedule.sigmas[i]);
  }
  return schedule;
}

}  // namespace dlo::model
