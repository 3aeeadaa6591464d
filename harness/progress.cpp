#include "harness/progress.h"

#include <fmt/format.h>

#include <ostream>

namespace dlo::harness {
namespace {

// Carriage return, then erase to the end of the line.
constexpr std::string_view kRewrite = "\r\x1b[K";

}  // namespace

Progress::Progress(std::ostream& out, bool terminal, bool speaks)
    : out_(out), terminal_(terminal), speaks_(speaks) {}

void Progress::begin(std::size_t index, std::size_t count, const std::string& name) {
  if (speaks_ && terminal_) {
    out_ << kRewrite << fmt::format("[{}/{}] {}", index + 1, count, name) << std::flush;
  }
}

void Progress::end(const ScenarioResult& result) {
  if (!speaks_ || result.passed) {
    return;
  }
  finish();
  for (const std::string& check : result.failed_checks) {
    out_ << "fell short: " << result.name << ": " << check << '\n';
  }
  out_ << std::flush;
}

void Progress::finish() {
  if (speaks_ && terminal_) {
    out_ << kRewrite << std::flush;
  }
}

}  // namespace dlo::harness
