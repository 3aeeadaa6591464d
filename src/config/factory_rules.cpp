#include "config/factory_rules.h"

#include <string>

namespace dlo::config {

namespace {

// A rule that a plan which replaces weights turns into an error.
void find(FactoryVerdict& verdict, const FactoryFacts& facts, std::string_view code,
          const std::string& what, const char* where) {
  const bool fatal = facts.has_plan && facts.plan_replaces_weights;
  verdict.findings.push_back(refuse(code, what, where,
                                    fatal ? "switch dlo_checkpoint_mmap off, or run where "
                                            "offload works"
                                          : "the run goes on without offload"));
  if (verdict.outcome != FactoryOutcome::kRefuse) {
    verdict.outcome = fatal ? FactoryOutcome::kRefuse : FactoryOutcome::kRunWithoutOffload;
  }
}

}  // namespace

FactoryVerdict check_factory(const FactoryFacts& facts) {
  FactoryVerdict verdict;
  if (facts.has_plan && facts.strategy != OffloadStrategy::kDistributedLayerwise) {
    verdict.outcome = FactoryOutcome::kRefuse;
    verdict.findings.push_back(refuse(
        "CFG-30",
        "the loader made a plan and the strategy is " + std::string(strategy_name(facts.strategy)),
        "strategy", "enable distributed layerwise offload, or load ordinarily"));
  }
  const bool wants_offload = facts.has_plan || facts.strategy != OffloadStrategy::kNone;
  if (wants_offload && !facts.platform_can_offload) {
    find(verdict, facts, "CFG-31", "the platform cannot offload weights to the host", "platform");
  }
  if (wants_offload && !facts.device_resolved) {
    find(verdict, facts, "CFG-32", "the device cannot be resolved", "device");
  }
  return verdict;
}

}  // namespace dlo::config
