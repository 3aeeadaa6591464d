#include "tests/golden/unipc_steps.h"

#include <algorithm>
#include <cmath>

namespace dlo::golden {

namespace {

constexpr std::size_t kOrder = 2;

std::vector<float> scaled_difference(const std::vector<float>& a, const std::vector<float>& b,
                                     double scale) {
  std::vector<float> out(a.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<float>(scale * (static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return out;
}

}  // namespace

double UniPcSteps::lambda(std::size_t index) const {
  const auto sigma = static_cast<double>(sigmas_[index]);
  return std::log(1.0 - sigma) - std::log(sigma);
}

// Of the step before the interval: its distance in lambda by that of the interval.
double UniPcSteps::ratio_behind(const Interval& interval) const {
  const double here = lambda(interval.from);
  return (lambda(interval.from - 1) - here) / (lambda(interval.to) - here);
}

std::vector<float> UniPcSteps::move(const Interval& interval, const std::vector<float>& x,
                                    const std::vector<float>& residual) const {
  const double h = lambda(interval.to) - lambda(interval.from);
  const double phi = std::expm1(-h);  // bh2: also the weight of the residual
  const double alpha = 1.0 - static_cast<double>(sigmas_[interval.to]);
  const double share =
      static_cast<double>(sigmas_[interval.to]) / static_cast<double>(sigmas_[interval.from]);
  const auto& m0 = clean_.back();
  std::vector<float> out(x.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double along = static_cast<double>(m0[i]) + static_cast<double>(residual[i]);
    out[i] = static_cast<float>(share * static_cast<double>(x[i]) - alpha * phi * along);
  }
  return out;
}

std::vector<float> UniPcSteps::correct(const std::vector<float>& clean) const {
  const Interval interval{index_ - 1, index_, order_};
  const auto& m0 = clean_.back();
  if (order_ == 1) {
    return move(interval, last_sample_, scaled_difference(clean, m0, 0.5));
  }
  // Two unknowns: [1 1; r 1] rho = b.
  const double hh = lambda(interval.from) - lambda(interval.to);
  const double phi = std::expm1(hh);
  const double phi_2 = phi / hh - 1.0;
  const double phi_3 = phi_2 / hh - 0.5;
  const double b1 = phi_2 / phi;
  const double b2 = 2.0 * phi_3 / phi;
  const double r = ratio_behind(interval);
  const double rho_behind = (b2 - b1) / (r - 1.0);
  const double rho_here = b1 - rho_behind;
  auto residual = scaled_difference(clean, m0, rho_here);
  const auto behind = scaled_difference(clean_[clean_.size() - 2], m0, rho_behind / r);
  for (std::size_t i = 0; i < residual.size(); ++i) {
    residual[i] += behind[i];
  }
  return move(interval, last_sample_, residual);
}

std::vector<float> UniPcSteps::predict(const std::vector<float>& sample) const {
  const Interval interval{index_, index_ + 1, order_};
  const auto& m0 = clean_.back();
  if (sigmas_[interval.to] == 0.0F) {
    return m0;
  }
  const auto residual =
      order_ == 1 ? std::vector<float>(m0.size(), 0.0F)
                  : scaled_difference(clean_[clean_.size() - 2], m0, 0.5 / ratio_behind(interval));
  return move(interval, sample, residual);
}

std::vector<float> UniPcSteps::step(const std::vector<float>& sample,
                                    const std::vector<float>& velocity) {
  std::vector<float> clean(sample.size());
  for (std::size_t i = 0; i < clean.size(); ++i) {
    clean[i] = sample[i] - sigmas_[index_] * velocity[i];
  }
  last_sample_ = index_ == 0 ? sample : correct(clean);
  clean_.push_back(std::move(clean));
  const std::size_t left = sigmas_.size() - 1 - index_;
  order_ = std::min({kOrder, left, clean_.size()});
  auto next = predict(last_sample_);
  ++index_;
  return next;
}

}  // namespace dlo::golden
