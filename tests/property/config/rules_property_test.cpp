// Goal: the rule table, the stages and the normal form of src/config say what the reference says,
// for any configuration.
// Method: configurations made of the values in values.json, drawn (RapidCheck) and varied one by
// one from several starting points, against the independent statement in rules.json.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "base/codes.h"
#include "config/option_rows.h"
#include "config/rules.h"
#include "config/validate.h"
#include "tests/property/config/rule_statement.h"

namespace dlo::config {
namespace {

using nlohmann::json;

constexpr Stage kStages[] = {Stage::kConstruct, Stage::kNormalise, Stage::kFactory, Stage::kLoader,
                             Stage::kEngine};

json read_json(const std::string& name) {
  std::ifstream file(DLO_SOURCE_DIR "/tests/property/config/" + name);
  return json::parse(file);
}

const RuleStatement& statement() {
  static const RuleStatement loaded(read_json("rules.json"));
  return loaded;
}

const json& values() {
  static const json loaded = read_json("values.json");
  return loaded;
}

json to_json(const Configuration& configuration) {
  return {{"options", options_to_json(configuration.options)},
          {"parallel", parallel_to_json(configuration.parallel)},
          {"neighbours", neighbours_to_json(configuration.neighbours)}};
}

// The defaults overwritten by "section.name": value pairs.
Configuration configuration_of(const json& assignments) {
  json sections = {
      {"options", json::object()}, {"parallel", json::object()}, {"neighbours", json::object()}};
  for (const auto& [path, value] : assignments.items()) {
    const auto dot = path.find('.');
    sections[path.substr(0, dot)][path.substr(dot + 1)] = value;
  }
  return Configuration{*options_from_json(sections["options"]),
                       *parallel_from_json(sections["parallel"]),
                       *neighbours_from_json(sections["neighbours"])};
}

json draw_assignments() {
  json assignments = *rc::gen::elementOf(values().at("bases").get<std::vector<json>>());
  const auto changes = *rc::gen::inRange(0, 7);
  std::vector<std::string> fields;
  for (const auto& [field, unused] : values().at("values").items()) {
    fields.push_back(field);
  }
  for (int i = 0; i < changes; ++i) {
    const auto field = *rc::gen::elementOf(fields);
    assignments[field] =
        *rc::gen::elementOf(values().at("values").at(field).get<std::vector<json>>());
  }
  return assignments;
}

std::vector<std::string> codes_of(const std::vector<Refusal>& refusals) {
  std::vector<std::string> codes;
  for (const auto& refusal : refusals) {
    codes.push_back(refusal.code);
  }
  return codes;
}

// First stage with violations, as validate() must report it; empty when there is none.
std::vector<std::string> wanted_outcome(const json& configuration) {
  for (const auto* stage : {"construct", "normalise", "engine"}) {
    const auto codes = statement().violated_codes(stage, configuration);
    if (!codes.empty()) {
      return codes;
    }
  }
  return {};
}

std::vector<std::string> wanted_set_aside(const Configuration& configuration) {
  std::vector<std::string> options;
  const auto& asked = configuration.options;
  const bool dlo = asked.enable_distributed_layerwise_offload;
  if (asked.enable_layerwise_offload && dlo) {
    options.emplace_back("enable_layerwise_offload");
  }
  if (asked.enable_cpu_offload && (dlo || asked.enable_layerwise_offload)) {
    options.emplace_back("enable_cpu_offload");
  }
  return options;
}

std::vector<std::string> set_aside_options(const OffloadConfig& config) {
  std::vector<std::string> options;
  for (const auto& refusal : config.set_aside) {
    if (refusal.code == codes::kLowerPriorityStrategy) {
      options.push_back(refusal.where);
    }
  }
  return options;
}

// What is wrong with the product's answers for `configuration`; empty when nothing is.
std::string disagreement(const Configuration& configuration) {
  const auto text = to_json(configuration);
  for (const auto stage : kStages) {
    const auto got = codes_of(check_stage(stage, configuration));
    const auto wanted = statement().violated_codes(std::string(stage_name(stage)), text);
    if (got != wanted) {
      return json{{"stage", stage_name(stage)}, {"got", got}, {"wanted", wanted}}.dump();
    }
  }
  const auto validation =
      validate(configuration.options, configuration.parallel, configuration.neighbours);
  if (codes_of(validation.violations) != wanted_outcome(text)) {
    return json{{"validate", codes_of(validation.violations)}}.dump();
  }
  const bool constructed = statement().violated_codes("construct", text).empty();
  if (!constructed) {
    return "";
  }
  const auto config = normalise(configuration.options, configuration.parallel);
  if (strategy_name(config.strategy) != statement().quantity("strategy", text).get<std::string>()) {
    return "strategy";
  }
  if (config.dp_size != statement().quantity("dp_size", text).get<double>()) {
    return "dp_size " + std::to_string(config.dp_size);
  }
  return set_aside_options(config) == wanted_set_aside(configuration) ? "" : "set aside";
}

RC_GTEST_PROP(Rules, DrawnConfigurations_AgreeWithTheStatement, ()) {
  for (int i = 0; i < 10; ++i) {
    const auto assignments = draw_assignments();
    const auto wrong = disagreement(configuration_of(assignments));
    RC_LOG() << assignments.dump() << "\n";
    RC_ASSERT(wrong == "");
  }
}

TEST(Rules, EveryValueFromEveryBase_AgreesAndEveryCodeOccurs) {
  std::set<std::string> seen;
  for (const auto& base : values().at("bases")) {
    for (const auto& [field, choices] : values().at("values").items()) {
      for (const auto& choice : choices) {
        auto assignments = base;
        assignments[field] = choice;
        const auto configuration = configuration_of(assignments);
        EXPECT_EQ(disagreement(configuration), "") << assignments.dump();
        for (const auto stage : kStages) {
          for (const auto& refusal : check_stage(stage, configuration)) {
            seen.insert(refusal.code == codes::kNotInThisProduct ? refusal.where : refusal.code);
          }
        }
      }
    }
  }
  for (const auto& rule : configuration_rules()) {
    EXPECT_EQ(seen.count(std::string(rule.code)), 1U) << rule.code << " never occurred";
  }
  for (const auto& rule : unsupported_rules()) {
    EXPECT_EQ(seen.count(std::string(rule.subject)), 1U) << rule.subject << " never occurred";
  }
}

TEST(Rules, TableAndStatement_HaveTheSameCodes) {
  std::vector<std::string> table;
  for (const auto& rule : configuration_rules()) {
    table.emplace_back(rule.code);
  }
  EXPECT_EQ(table, statement().all_codes());
}

RC_GTEST_PROP(Options, DrawnConfigurations_RoundTripThroughJson, ()) {
  const auto text = to_json(configuration_of(draw_assignments()));
  const Configuration again{*options_from_json(text.at("options")),
                            *parallel_from_json(text.at("parallel")),
                            *neighbours_from_json(text.at("neighbours"))};
  RC_ASSERT(to_json(again) == text);
}

TEST(Values, EveryOption_IsVaried) {
  std::set<std::string> varied;
  for (const auto& [field, unused] : values().at("values").items()) {
    varied.insert(field);
  }
  const auto defaults = to_json(Configuration{});
  for (const auto& [section, options] : defaults.items()) {
    for (const auto& [name, unused] : options.items()) {
      EXPECT_EQ(varied.count(section + "." + name), 1U) << section << "." << name;
    }
  }
}

}  // namespace
}  // namespace dlo::config
