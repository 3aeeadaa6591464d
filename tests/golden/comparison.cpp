#include "tests/golden/comparison.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace dlo::golden {

namespace {

struct Tolerance {
  const char* pattern;
  double absolute;
};

// Of the fixtures' own table: room above what other kernels of the same library change.
constexpr std::array<Tolerance, 10> kTolerances = {{
    {"*forward_model", 0.0},
    {"*timesteps*", 1e-3},
    {"*.sigmas", 1e-6},
    {"*.sigmas.*", 1e-6},
    {"*trajectory*", 5e-6},
    {"*rope.cos", 1e-6},
    {"*rope.sin", 1e-6},
    {"*pipeline.latents*", 5e-5},
    {"umt5.*", 3e-5},
    {"*", 1e-5},
}};

ComparedTensor compare_one(const std::string& name, const GoldenTensor& expected,
                           const GoldenTensor& computed) {
  ComparedTensor result;
  result.name = name;
  result.tolerance = tolerance_of(name);
  if (expected.shape != computed.shape || expected.values.size() != computed.values.size()) {
    result.problem = fmt::format("shape {} instead of {}", shape_text(computed.shape),
                                 shape_text(expected.shape));
    return result;
  }
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const double error =
        std::abs(static_cast<double>(computed.values[i]) - static_cast<double>(expected.values[i]));
    if (std::isnan(error)) {
      result.max_error = std::numeric_limits<double>::quiet_NaN();
      return result;
    }
    result.max_error = std::max(result.max_error, error);
  }
  return result;
}

double root_mean_square(const std::vector<float>& values) {
  double sum = 0.0;
  for (const float value : values) {
    sum += static_cast<double>(value) * static_cast<double>(value);
  }
  return std::sqrt(sum / static_cast<double>(values.size()));
}

}  // namespace

double relative_error(const GoldenTensor& expected, const GoldenTensor& computed) {
  std::vector<float> differences(expected.values.size());
  for (std::size_t i = 0; i < differences.size(); ++i) {
    differences[i] = computed.values.at(i) - expected.values[i];
  }
  return root_mean_square(differences) / root_mean_square(expected.values);
}

double tolerance_of(const std::string& name) {
  const auto matches = [&name](const Tolerance& entry) {
    return fnmatch(entry.pattern, name.c_str(), 0) == 0;
  };
  return std::find_if(kTolerances.begin(), kTolerances.end(), matches)->absolute;
}

bool Comparison::passed() const {
  return !compared.empty() && std::all_of(compared.begin(), compared.end(),
                                          [](const auto& tensor) { return tensor.within(); });
}

std::string Comparison::text() const {
  std::string out;
  for (const auto& tensor : compared) {
    out += fmt::format("{} {:<40} max abs error {:9.3g}, tolerance {:7.1g} {}\n",
                       tensor.within() ? "  " : "! ", tensor.name, tensor.max_error,
                       tensor.tolerance, tensor.problem);
  }
  for (const auto& name : not_compared) {
    out += fmt::format("   {:<40} not compared\n", name);
  }
  return out;
}

Comparison compare(const GoldenTensors& expected, const GoldenTensors& computed) {
  Comparison result;
  for (const auto& [name, tensor] : expected) {
    const auto found = computed.find(name);
    if (found == computed.end()) {
      result.not_compared.push_back(name);
    } else {
      result.compared.push_back(compare_one(name, tensor, found->second));
    }
  }
  return result;
}

}  // namespace dlo::golden
