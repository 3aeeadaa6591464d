// Goal: the command line means what --help says; a wrong word is refused with the nearest right
// one. Method: word lists, as a shell would pass them.
#include "harness/cli/arguments.h"

#include <gtest/gtest.h>

#include "base/codes.h"

namespace dlo::harness {
namespace {

Refusal refusal_of(const std::vector<std::string>& words) {
  const auto arguments = parse_arguments(words);
  EXPECT_FALSE(arguments.ok());
  return arguments.ok() ? Refusal{} : arguments.refusal();
}

bool says(const Refusal& refusal, const std::string& part) {
  return refusal.message().find(part) != std::string::npos;
}

TEST(Arguments, Sweep_TakesPathsOutFilterAndSeed) {
  const auto arguments =
      parse_arguments({"sweep", "a", "b", "--out", "dir", "--name", "dp2", "--seed", "9"});
  ASSERT_TRUE(arguments.ok()) << arguments.refusal().message();
  EXPECT_EQ(arguments->subcommand, Subcommand::kSweep);
  EXPECT_EQ(arguments->paths, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(arguments->out, "dir");
  EXPECT_EQ(arguments->name_filter, "dp2");
  EXPECT_EQ(arguments->seed, 9U);
}

TEST(Arguments, SweepList_NeedsNoOut) {
  EXPECT_TRUE(parse_arguments({"sweep", "a", "--list"}).ok());
  EXPECT_TRUE(says(refusal_of({"sweep", "a"}), "--out"));
}

TEST(Arguments, RunWithOffloadFlags_OverridesInOrder) {
  const auto arguments =
      parse_arguments({"run", "f.json", "--out", "dir", "--enable-distributed-layerwise-offload",
                       "--dlo-no-use-allgather", "--dlo-prefetch-depth", "2"});
  ASSERT_TRUE(arguments.ok()) << arguments.refusal().message();
  config::OffloadOptions options;
  ASSERT_TRUE(apply_overrides(arguments->overrides, options).ok());
  EXPECT_TRUE(options.enable_distributed_layerwise_offload);
  EXPECT_FALSE(options.dlo_use_allgather);
  EXPECT_EQ(options.dlo_prefetch_depth, 2);
}

TEST(Arguments, OffloadFlagWithBadNumber_IsRefused) {
  EXPECT_EQ(refusal_of({"run", "f", "--out", "d", "--dlo-prefetch-depth", "two"}).code,
            codes::kInvalidValue);
}

TEST(Arguments, UnknownFlag_NamesNearestAndCommand) {
  const Refusal refusal = refusal_of({"sweep", "a", "--out", "d", "--lst"});
  EXPECT_EQ(refusal.code, codes::kUnknownOption);
  EXPECT_EQ(refusal.where, "dlo sweep");
  EXPECT_TRUE(says(refusal, "'--list'")) << refusal.message();
}

TEST(Arguments, UnknownOffloadFlag_NamesNearest) {
  EXPECT_TRUE(
      says(refusal_of({"run", "f", "--out", "d", "--dlo-use-algather"}), "--dlo-use-allgather"));
}

TEST(Arguments, UnknownSubcommand_NamesNearest) {
  const Refusal refusal = refusal_of({"swep"});
  EXPECT_EQ(refusal.code, codes::kUnknownOption);
  EXPECT_TRUE(says(refusal, "'sweep'")) << refusal.message();
  EXPECT_TRUE(says(refusal_of({"checkpoint", "creat"}), "'create'"));
}

TEST(Arguments, Nothing_IsRefusedWithTheSubcommands) {
  EXPECT_TRUE(says(refusal_of({}), "doctor"));
}

TEST(Arguments, MissingValue_IsOneLine) {
  const Refusal refusal = refusal_of({"run", "f", "--out"});
  EXPECT_EQ(refusal.message().find('\n'), std::string::npos);
}

TEST(Arguments, HelpOfASubcommand_ListsItsFlags) {
  const auto arguments = parse_arguments({"sweep", "--help"});
  ASSERT_TRUE(arguments.ok());
  EXPECT_EQ(arguments->subcommand, Subcommand::kHelp);
  EXPECT_NE(arguments->help.find("--list"), std::string::npos);
}

TEST(Arguments, Version_NeedsNoSubcommand) {
  EXPECT_EQ(parse_arguments({"--version"})->subcommand, Subcommand::kVersion);
}

TEST(Arguments, ExploreRanks_AreANumberAndNotBesideACase) {
  EXPECT_EQ(parse_arguments({"explore", "--ranks", "8"})->explore_ranks, 8U);
  EXPECT_FALSE(parse_arguments({"explore"})->explore_ranks.has_value());
  EXPECT_FALSE(parse_arguments({"explore", "--ranks", "0"}).ok());
  EXPECT_FALSE(parse_arguments({"explore", "--ranks", "8", "--case", "{}"}).ok());
}

TEST(Arguments, CheckpointCreate_TakesPresetBlocksAndDtype) {
  const auto arguments = parse_arguments({"checkpoint", "create", "--preset", "wan_cpu", "--blocks",
                                          "3", "--dtype", "BF16", "--out", "d"});
  ASSERT_TRUE(arguments.ok()) << arguments.refusal().message();
  EXPECT_EQ(arguments->subcommand, Subcommand::kCheckpointCreate);
  EXPECT_EQ(arguments->preset, "wan_cpu");
  EXPECT_EQ(arguments->blocks, 3);
}

TEST(Arguments, CheckpointInspect_TakesOnePath) {
  const auto arguments = parse_arguments({"checkpoint", "inspect", "x", "--json"});
  ASSERT_TRUE(arguments.ok());
  EXPECT_TRUE(arguments->json);
  EXPECT_EQ(refusal_of({"checkpoint", "inspect", "x", "y"}).code, codes::kInvalidValue);
  EXPECT_TRUE(says(refusal_of({"checkpoint"}), "no subcommand"));
}

}  // namespace
}  // namespace dlo::harness
