// Goal: validate() walks the stages in order, stops at the first that refuses, and otherwise gives
// the normal form.
// Method: one configuration an ending.
#include "config/validate.h"

#include <gtest/gtest.h>

#include "base/codes.h"

namespace dlo::config {
namespace {

std::vector<std::string> codes_of(const Validation& validation) {
  std::vector<std::string> codes;
  for (const auto& refusal : validation.violations) {
    codes.push_back(refusal.code);
  }
  return codes;
}

TEST(Validate, ValidOptions_GiveTheNormalForm) {
  OffloadOptions options;
  options.enable_distributed_layerwise_offload = true;
  options.enable_cpu_offload = true;
  ParallelConfig parallel;
  parallel.data_parallel_size = 4;
  const auto validation = validate(options, parallel);
  ASSERT_TRUE(validation.ok());
  EXPECT_EQ(validation.config, normalise(options, parallel));
  EXPECT_EQ(validation.config.dp_size, 4U);
  EXPECT_EQ(validation.config.set_aside.size(), 1U);
}

TEST(Validate, ConstructViolation_HidesLaterStages) {
  OffloadOptions options;
  options.dlo_resident_layers = -1;  // normalise
  options.dlo_input_slots = 0;       // construct
  EXPECT_EQ(codes_of(validate(options, {})), (std::vector<std::string>{"CFG-62"}));
}

TEST(Validate, NormaliseViolation_HidesTheEngineStage) {
  OffloadOptions options;
  options.dlo_resident_layers = 2;          // with AllGather
  options.enable_layerwise_offload = true;  // alone: not in this product
  EXPECT_EQ(codes_of(validate(options, {})), (std::vector<std::string>{"CFG-21"}));
}

TEST(Validate, FeaturesThatDoNotExist_AreRefusedTogether) {
  OffloadOptions options;
  options.enable_layerwise_offload = true;
  ParallelConfig parallel;
  parallel.tensor_parallel_size = 2;
  parallel.enable_expert_parallel = true;
  const auto validation = validate(options, parallel);
  EXPECT_EQ(codes_of(validation),
            std::vector<std::string>(3, std::string(codes::kNotInThisProduct)));
  EXPECT_EQ(validation.violations[0].where, "enable_layerwise_offload");
}

TEST(Validate, LowerStrategyBesideDlo_IsNoRefusal) {
  OffloadOptions options;
  options.enable_distributed_layerwise_offload = true;
  options.enable_layerwise_offload = true;
  EXPECT_TRUE(validate(options, {}).ok());
}

TEST(Validate, SeveralRequestsInFlight_NeedAWave) {
  OffloadOptions options;
  NeighbourOptions neighbours;
  neighbours.max_num_seqs = 4;
  EXPECT_EQ(codes_of(validate(options, {}, neighbours)), (std::vector<std::string>{"CFG-50"}));
  options.enable_distributed_layerwise_offload = true;
  ParallelConfig parallel;
  parallel.data_parallel_size = 2;
  EXPECT_TRUE(validate(options, parallel, neighbours).ok());
}

}  // namespace
}  // namespace dlo::config
