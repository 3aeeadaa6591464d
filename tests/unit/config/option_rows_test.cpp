// Goal: the option tables have the reference's names, defaults and command-line spellings, and
// every row can be set, shown and explained.
// Method: the reference's table (1.1, 1.2) written out here; general facts over all rows.
#include "config/option_rows.h"

#include <gtest/gtest.h>

#include <set>

#include "base/codes.h"

namespace dlo::config {
namespace {

using nlohmann::json;

TEST(OffloadOptions, Defaults_AreTheReferences) {
  const json wanted = {
      {"enable_distributed_layerwise_offload", false},
      {"dlo_use_allgather", true},
      {"dlo_enable_runtime_cache", false},
      {"dlo_runtime_cache_dir", nullptr},
      {"dlo_runtime_cache_lock_timeout", 600.0},
      {"dlo_runtime_cache_pin_limit_gib", 0.0},
      {"dlo_resident_layers", 0},
      {"pin_cpu_memory", true},
      {"enable_layerwise_offload", false},
      {"enable_cpu_offload", false},
      {"dlo_prefetch_depth", 1},
      {"dlo_chunk_bytes", 67'108'864},
      {"dlo_input_slots", 2},
      {"dlo_checkpoint_mmap", true},
      {"dlo_pack_threads", 4},
      {"dlo_staging_bytes", 0},
      {"dlo_staging_chunk_bytes", 16'777'216},
  };
  EXPECT_EQ(options_to_json(OffloadOptions{}), wanted);
}

TEST(ParallelConfig, Defaults_AreTheReferences) {
  const json wanted = {
      {"data_parallel_size", 1},
      {"tensor_parallel_size", 1},
      {"ulysses_degree", 1},
      {"sequence_parallel_size", nullptr},
      {"ring_degree", 1},
      {"allgather_degree", 1},
      {"ulysses_mode", "strict"},
      {"use_hsdp", false},
      {"hsdp_shard_size", -1},
      {"hsdp_replicate_size", 1},
      {"pipeline_parallel_size", 1},
      {"cfg_parallel_size", 1},
      {"vae_patch_parallel_size", 1},
      {"enable_expert_parallel", false},
  };
  EXPECT_EQ(parallel_to_json(ParallelConfig{}), wanted);
}

struct Spelling {
  const char* name;
  const char* cli;
  const char* cli_negated;
};

TEST(OffloadOptions, CommandLine_SpellsWhatTheReferenceExposes) {
  const Spelling wanted[] = {
      {"enable_distributed_layerwise_offload", "--enable-distributed-layerwise-offload", ""},
      {"dlo_use_allgather", "--dlo-use-allgather", "--dlo-no-use-allgather"},
      {"dlo_enable_runtime_cache", "--dlo-enable-runtime-cache", ""},
      {"dlo_runtime_cache_dir", "", ""},
      {"dlo_runtime_cache_lock_timeout", "", ""},
      {"dlo_runtime_cache_pin_limit_gib", "--dlo-runtime-cache-pin-limit-gib", ""},
      {"dlo_resident_layers", "--dlo-resident-layers", ""},
  };
  for (const auto& spelling : wanted) {
    bool found = false;
    for (const auto& row : offload_option_rows()) {
      if (row.name == spelling.name) {
        found = true;
        EXPECT_EQ(row.cli, spelling.cli);
        EXPECT_EQ(row.cli_negated, spelling.cli_negated);
      }
    }
    EXPECT_TRUE(found) << spelling.name;
  }
}

// Facts that hold for the rows of every table; spellings are collected over all of them.
template <typename Options>
void check_rows(std::span<const OptionRow<Options>> rows, std::set<std::string_view>& spellings) {
  std::set<std::string_view> names;
  for (const auto& row : rows) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.help.empty()) << row.name;
    EXPECT_EQ(row.help.back(), '.') << row.name;
    for (const auto spelling : {row.cli, row.cli_negated}) {
      EXPECT_TRUE(spelling.empty() || spelling.substr(0, 2) == "--") << row.name;
      EXPECT_TRUE(spelling.empty() || spellings.insert(spelling).second) << spelling;
    }
    EXPECT_TRUE(row.cli_negated.empty() || row.type() == OptionType::kFlag) << row.name;
    // A flag that is on by default is useless on a command line that cannot switch it off.
    const bool on = default_of(row) == json(true);
    EXPECT_TRUE(!on || row.cli.empty() || !row.cli_negated.empty()) << row.name;
  }
}

TEST(OptionRows, AllTables_HaveDistinctNamesSpellingsAndHelp) {
  std::set<std::string_view> spellings;
  check_rows(offload_option_rows(), spellings);
  check_rows(parallel_option_rows(), spellings);
  check_rows(neighbour_option_rows(), spellings);
}

TEST(OptionsFromJson, KnownKeys_OverwriteDefaults) {
  const auto options =
      options_from_json({{"dlo_use_allgather", false}, {"dlo_runtime_cache_dir", "/cache"}});
  ASSERT_TRUE(options.ok());
  EXPECT_FALSE(options->dlo_use_allgather);
  EXPECT_EQ(options->dlo_runtime_cache_dir, "/cache");
  EXPECT_EQ(options->dlo_prefetch_depth, 1);
}

TEST(OptionsFromJson, UnknownKey_NamesTheNearest) {
  const auto options = options_from_json({{"dlo_use_all_gather", true}});
  ASSERT_FALSE(options.ok());
  EXPECT_EQ(options.refusal().code, codes::kUnknownOption);
  EXPECT_EQ(options.refusal().message(),
            "unknown option 'dlo_use_all_gather' [unknown_option] (dlo_use_all_gather); did you "
            "mean 'dlo_use_allgather'?");
}

TEST(OptionsFromJson, WrongType_NamesOptionAndWantedType) {
  const auto options = options_from_json({{"dlo_prefetch_depth", "two"}});
  ASSERT_FALSE(options.ok());
  EXPECT_EQ(options.refusal().message(),
            "option dlo_prefetch_depth cannot be \"two\" [invalid_value] (dlo_prefetch_depth); "
            "give a whole number of 64 bits");
}

TEST(OptionsFromJson, NotAnObject_IsRefused) {
  for (const auto& wrong : {json::array(), json(nullptr), json(3)}) {
    const auto options = options_from_json(wrong);
    ASSERT_FALSE(options.ok());
    EXPECT_EQ(options.refusal().code, codes::kInvalidValue);
  }
}

TEST(ParallelFromJson, Sizes_AreRead) {
  const auto parallel = parallel_from_json({{"data_parallel_size", 4}, {"ulysses_mode", "x"}});
  ASSERT_TRUE(parallel.ok());
  EXPECT_EQ(parallel->data_parallel_size, 4);
  EXPECT_EQ(parallel->ulysses_mode, "x");
}

TEST(NeighboursFromJson, NullAndNumber_AreRead) {
  EXPECT_EQ(neighbours_from_json({{"num_gpus", nullptr}})->num_gpus, std::nullopt);
  EXPECT_EQ(neighbours_from_json({{"num_gpus", 4}})->num_gpus, 4);
}

TEST(SetFromText, EveryRow_TakesItsOwnDefault) {
  OffloadOptions options;
  options.dlo_prefetch_depth = 3;
  for (const auto& row : offload_option_rows()) {
    const auto value = default_of(row);
    const auto text = value.is_string() ? value.get<std::string>() : value.dump();
    if (!value.is_null()) {
      EXPECT_TRUE(set_from_text(row, options, text).ok()) << row.name << " " << text;
    }
  }
  EXPECT_EQ(options, OffloadOptions{});
}

TEST(SetFromText, BadWord_LeavesTheOptionsAlone) {
  OffloadOptions options;
  for (const auto& row : offload_option_rows()) {
    if (row.type() != OptionType::kText && row.type() != OptionType::kOptionalText) {
      const auto status = set_from_text(row, options, "many");
      ASSERT_FALSE(status.ok()) << row.name;
      EXPECT_EQ(status.refusal().code, codes::kInvalidValue);
      EXPECT_EQ(status.refusal().where, row.name);
    }
  }
  EXPECT_EQ(options, OffloadOptions{});
}

}  // namespace
}  // namespace dlo::config
