#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/gate/gate_files.h"
#include "harness/plot.h"

namespace dlo::harness {
namespace {

struct Counts {
  std::size_t tests = 0;
  std::size_t failures = 0;
};

// XML allows no control characters but these, not even escaped.
std::string xml_text(const std::string& text) {
  std::string clean;
  for (const char c : text) {
    const bool control = static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
    clean += control ? ' ' : c;
  }
  return escape_html(clean);
}

std::string test_case(const std::string& suite, const std::string& name, double seconds,
                      const std::vector<std::string>& findings, const std::string& output) {
  std::string text = fmt::format(R"(    <testcase classname="{}" name="{}" time="{:.3f}")",
                                 xml_text(suite), xml_text(name), seconds);
  if (findings.empty()) {
    return text + "/>\n";
  }
  text += fmt::format(">\n      <failure message=\"{}\">{}</failure>\n", xml_text(findings.front()),
                      xml_text(fmt::format("{}", fmt::join(findings, "\n"))));
  if (!output.empty()) {
    text += fmt::format("      <system-out>{}</system-out>\n", xml_text(output));
  }
  return text + "    </testcase>\n";
}

std::string suite_text(const JobVerdict& job, Counts& total) {
  Counts counts;
  std::string cases;
  for (const GateScenario& scenario : job.scenarios) {
    cases += test_case(job.name, scenario.name, 0, scenario.findings, "");
    counts.tests += 1;
    counts.failures += scenario.passed() ? 0U : 1U;
  }
  cases += test_case(job.name, "job", job.facts.duration_s, job.findings, job.facts.last_words);
  counts.tests += 1;
  counts.failures += job.findings.empty() ? 0U : 1U;
  total.tests += counts.tests;
  total.failures += counts.failures;
  return fmt::format(
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" time=\"{:.3f}\">\n{}"
      "  </testsuite>\n",
      xml_text(job.name), counts.tests, counts.failures, job.facts.duration_s, cases);
}

}  // namespace

std::string to_junit(const GateRecord& record) {
  Counts total;
  std::string suites;
  for (const JobVerdict& job : record.jobs) {
    suites += suite_text(job, total);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"dlo gate\" tests=\"{}\" failures=\"{}\" errors=\"0\" time=\"{:.3f}\">\n"
      "{}</testsuites>\n",
      total.tests, total.failures, record.run.duration_s, suites);
}

}  // namespace dlo::harness
