#include "harness/cli/arguments.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/codes.h"
#include "base/nearest_name.h"
#include "config/option_rows.h"
#include "host_weights/seeded_checkpoint/presets.h"

namespace dlo::harness {
namespace {

using config::OptionType;
using OffloadRow = config::OptionRow<config::OffloadOptions>;

// The names that a misspelt word may have meant where `app` was reading.
std::vector<std::string> names_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  for (const CLI::App* subcommand : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(subcommand->get_name());
  }
  return names;
}

const CLI::App& deepest_chosen(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  return chosen.empty() ? app : deepest_chosen(*chosen.front());
}

// What the user typed before the misspelt word: "dlo sweep".
std::string command_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name()
                                     : command_of(*app.get_parent()) + " " + app.get_name();
}

Refusal unknown_word(const CLI::App& app, const std::string& fallback) {
  const CLI::App& reader = deepest_chosen(app);
  const std::vector<std::string> rest = app.remaining(/*recurse=*/true);
  const std::string word = rest.empty() ? fallback : rest.front();
  const bool flag = word.starts_with("-");
  std::vector<std::string> names = names_of(reader);
  std::erase_if(names, [&](const std::string& name) { return name.starts_with("-") != flag; });
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string kind = flag ? "option"
                           : reader.get_subcommands([](const CLI::App*) { return true; }).empty()
                               ? "argument"
                               : "subcommand";
  return refuse(codes::kUnknownOption, "unknown " + kind + " '" + word + "'", command_of(reader),
                known.empty() ? "see " + command_of(reader) + " --help"
                              : suggest_name(word.substr(0, word.find('=')), known));
}

// The parser's whole state: CLI11 writes into it while it reads.
class Parser {
 public:
  Parser() : app_("Distributed layerwise offload: run it, sweep it, prove it", "dlo") {
    app_.require_subcommand(0, 1);
    app_.add_flag("--version", version_, "What this program was built from");
    add_doctor();
    add_checkpoint();
    add_plan();
    add_run();
    add_sweep();
    add_gate();
    add_explore();
    add_predict();
    add_compare();
    add_report();
  }

  Result<Arguments> parse(const std::vector<std::string>& words) {
    try {
      // CLI11 takes the words from the back.
      app_.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (const CLI::CallForHelp&) {
      return help_of(deepest_chosen(app_));
    } catch (const CLI::ExtrasError& error) {
      return unknown_word(app_, error.what());
    } catch (const CLI::ParseError& error) {
      std::string text = error.what();
      std::replace(text.begin(), text.end(), '\n', ' ');
      const std::string command = command_of(deepest_chosen(app_));
      return refuse(codes::kInvalidValue, text, command, "see " + command + " --help");
    }
    return finish();
  }

 private:
  Result<Arguments> help_of(const CLI::App& app) {
    Arguments help;
    help.subcommand = Subcommand::kHelp;
    help.help = app.help();
    return help;
  }

  Result<Arguments> finish() {
    if (version_) {
      arguments_.subcommand = Subcommand::kVersion;
    } else if (app_.get_subcommands().empty()) {
      return refuse(codes::kInvalidValue, "no subcommand given", "dlo",
                    "give doctor, checkpoint, plan, run, sweep, gate, explore, predict, report or "
                    "compare, or see dlo --help");
    }
    const CLI::App& chosen = deepest_chosen(app_);
    if (!version_ && !chosen.get_subcommands([](const CLI::App*) { return true; }).empty()) {
      const std::string command = command_of(chosen);
      return refuse(codes::kInvalidValue, "no subcommand given", command,
                    "see " + command + " --help");
    }
    return arguments_;
  }

  CLI::App* add(CLI::App& parent, const char* name, const char* help, Subcommand subcommand) {
    CLI::App* app = parent.add_subcommand(name, help);
    app->callback([this, subcommand] { arguments_.subcommand = subcommand; });
    return app;
  }

  void add_out(CLI::App* app, const char* help) {
    app->add_option("--out", arguments_.out, help)->required()->type_name("DIR");
  }

  void add_seed(CLI::App* app) {
    app->add_option("--seed", arguments_.seed,
                    "Seed of models and requests where a file names none")
        ->type_name("N")
        ->capture_default_str();
  }

  void add_doctor() {
    add(app_, "doctor", "What this machine can do, and what limits it", Subcommand::kDoctor);
  }

  void add_checkpoint() {
    CLI::App* checkpoint = app_.add_subcommand("checkpoint", "Create or inspect a checkpoint");
    // None is refused in finish(): here it would hide the nearest name of a misspelt one.
    checkpoint->require_subcommand(0, 1);
    CLI::App* create = add(*checkpoint, "create", "Write a seeded checkpoint in diffusers' layout",
                           Subcommand::kCheckpointCreate);
    create
        ->add_option("--preset", arguments_.preset,
                     fmt::format("{}", fmt::join(host_weights::preset_names(), ", ")))
        ->required()
        ->type_name("NAME");
    create->add_option("--blocks", arguments_.blocks, "Number of blocks, if not the preset's own")
        ->type_name("N");
    create->add_option("--seed", arguments_.seed, "Seed of the values")
        ->type_name("N")
        ->capture_default_str();
    create->add_option("--dtype", arguments_.dtype, "F32, BF16 or mixed")
        ->type_name("DTYPE")
        ->capture_default_str();
    add_out(create, "New or empty folder");
    CLI::App* inspect = add(*checkpoint, "inspect", "List tensors with their digests",
                            Subcommand::kCheckpointInspect);
    inspect->add_option("path", arguments_.paths, "A .safetensors file, or a diffusers folder")
        ->required()
        ->expected(1)
        ->type_name("PATH");
    inspect->add_flag("--json", arguments_.json, "Print JSON");
  }

  void add_plan() {
    CLI::App* plan =
        add(app_, "plan", "What a checkpoint folder would take, from its headers alone",
            Subcommand::kPlan);
    add_plan_options(*plan, arguments_.plan);
    plan->add_flag("--json", arguments_.json, "Print JSON");
  }

  void add_run() {
    CLI::App* run = add(app_, "run", "Run one scenario file", Subcommand::kRun);
    run->add_option("file", arguments_.paths, "Scenario file")
        ->required()
        ->expected(1)
        ->type_name("FILE");
    add_out(run, "Folder for results.json and the report");
    run->add_option("--instance", arguments_.instance, "Only the instance of exactly this name")
        ->type_name("NAME");
    add_seed(run);
    for (const OffloadRow& row : config::offload_option_rows()) {
      add_offload_option(run, row);
    }
  }

  void add_offload_option(CLI::App* run, const OffloadRow& row) {
    if (row.cli.empty()) {
      return;
    }
    const std::string name(row.name);
    const auto note = [this, name](const std::string& value) {
      arguments_.overrides.emplace_back(name, value);
    };
    constexpr const char* kGroup = "Offload options (over the file's)";
    if (row.type() != OptionType::kFlag) {
      const std::string unit = row.unit.empty() ? "VALUE" : std::string(row.unit);
      run->add_option_function<std::string>(std::string(row.cli), note, std::string(row.help))
          ->type_name(unit)
          ->group(kGroup);
      return;
    }
    run->add_flag_callback(
           std::string(row.cli), [note] { note("true"); }, std::string(row.help))
        ->group(kGroup);
    if (!row.cli_negated.empty()) {
      run->add_flag_callback(
             std::string(row.cli_negated), [note] { note("false"); }, "Switches it off")
          ->group(kGroup);
    }
  }

  void add_sweep() {
    CLI::App* sweep = add(app_, "sweep", "Run every instance of scenario files that fits the world",
                          Subcommand::kSweep);
    sweep->add_option("path", arguments_.paths, "Scenario files, or folders of them")
        ->required()
        ->type_name("PATH");
    CLI::Option* out =
        sweep->add_option("--out", arguments_.out, "Folder for results.json and the report");
    out->type_name("DIR");
    sweep->add_option("--name", arguments_.name_filter, "Only instances whose name contains this")
        ->type_name("FILTER");
    sweep->add_flag("--list", arguments_.list, "Print the instances and run nothing");
    add_seed(sweep);
  }

  void add_explore() {
    CLI::App* explore = add(app_, "explore", "Try seeded schedules and faults in the simulator",
                            Subcommand::kExplore);
    explore
        ->add_option("--scenario", arguments_.explore_scenario,
                     "schedules: every order that streams and events allow; faults: failing calls")
        ->check(CLI::IsMember({"schedules", "faults"}))
        ->capture_default_str();
    explore->add_option("--seeds", arguments_.seeds, "Seeds to try, both ends included")
        ->type_name("A..B")
        ->capture_default_str();
    explore->add_option("--minutes", arguments_.minutes, "Stop early after this many minutes")
        ->type_name("M");
    explore->add_option("--threads", arguments_.threads, "Threads; 0: one a core")
        ->type_name("N")
        ->capture_default_str();
    explore->add_option("--json", arguments_.json_file, "Also write what is printed as JSON")
        ->type_name("FILE");
    explore
        ->add_option("--ranks", arguments_.explore_ranks,
                     "Every drawn case is an AllGather over so many")
        ->check(CLI::Range(1, 64))
        ->type_name("N");
    explore->add_option("--case", arguments_.case_json, "This case for every seed, as JSON")
        ->type_name("JSON")
        ->excludes("--ranks");
    explore
        ->add_option("--timeline", arguments_.timeline,
                     "Write the failing (or first) schedule as a Perfetto trace")
        ->type_name("FILE");
  }

  void add_predict() {
    CLI::App* predict = add(app_, "predict",
                            "Block and wave time of a topology from a calibration, and their bound",
                            Subcommand::kPredict);
    add_predict_options(*predict, arguments_.predict);
    predict->add_flag("--json", arguments_.json, "Print JSON");
  }

  void add_gate() {
    CLI::App* gate = add(app_, "gate", "Start every job that a change must pass, and judge them",
                         Subcommand::kGate);
    gate->add_option("path", arguments_.paths,
                     "Scenario files, or folders of them (default: smoke, compatibility and fault "
                     "below ./scenarios)")
        ->type_name("PATH");
    add_out(gate, "Folder for gate.json, gate.xml (JUnit), gate.md and the jobs' own folders");
    gate->add_option("--worlds", arguments_.worlds, "World sizes; a sweep each")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::Range(1, 1024))
        ->type_name("N,N")
        ->capture_default_str();
    gate->add_option("--job-timeout", arguments_.job_timeout_s,
                     "Deadline of each job; what still runs then is ended")
        ->check(CLI::Range(1.0, 86400.0))
        ->type_name("SECONDS")
        ->capture_default_str();
    gate->add_option("--mpirun", arguments_.mpirun, "Open MPI's mpirun")
        ->type_name("PROGRAM")
        ->capture_default_str();
    add_seed(gate);
  }

  void add_compare() {
    CLI::App* compare = add(app_, "compare",
                            "Two results.json, metric by metric, with intervals where rounds exist",
                            Subcommand::kCompare);
    compare->add_option("dirs", arguments_.paths, "Folders with results.json: before, after")
        ->required()
        ->expected(2)
        ->type_name("A B");
    compare->add_flag("--json", arguments_.json, "Print JSON");
  }

  void add_report() {
    CLI::App* report = add(app_, "report", "Write report.md and report.html from results.json",
                           Subcommand::kReport);
    report->add_option("dir", arguments_.paths, "Folder with results.json")
        ->required()
        ->expected(1)
        ->type_name("DIR");
  }

  CLI::App app_;
  Arguments arguments_;
  bool version_ = false;
};

}  // namespace

Result<Arguments> parse_arguments(const std::vector<std::string>& words) {
  Result<Arguments> arguments = Parser().parse(words);
  if (arguments.ok() && arguments->subcommand == Subcommand::kSweep && !arguments->list &&
      arguments->out.empty()) {
    return refuse(codes::kInvalidValue, "--out is required", "dlo sweep",
                  "name the folder for results.json, or pass --list");
  }
  if (arguments.ok()) {
    config::OffloadOptions probe;
    if (Status valid = apply_overrides(arguments->overrides, probe); !valid) {
      return valid.refusal();
    }
  }
  return arguments;
}

Status apply_overrides(const std::vector<std::pair<std::string, std::string>>& overrides,
                       config::OffloadOptions& options) {
  for (const auto& [name, value] : overrides) {
    for (const OffloadRow& row : config::offload_option_rows()) {
      if (row.name != name) {
        continue;
      }
      if (Status status = config::set_from_text(row, options, value); !status) {
        return status;
      }
    }
  }
  return {};
}

}  // namespace dlo::harness
