// Goal: names, order, shapes and dtypes of the published sizes equal the lists that the reference
// class gave. Method: line by line against the golden lists, counts and parameters beside them.
#include "host_weights/seeded_checkpoint/wan_tensors.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/codes.h"
#include "tests/unit/host_weights/seeded_checkpoint/golden_lines.h"

namespace dlo::host_weights {
namespace {

std::vector<std::string> our_lines(std::string_view preset, StoredDType stored) {
  return lines_of(wan_tensors(wan_preset(preset)->shape), stored);
}

std::uint64_t parameter_count(std::string_view preset) {
  std::uint64_t count = 0;
  for (const auto& tensor : wan_tensors(wan_preset(preset)->shape)) {
    count += element_count(tensor.shape).value();
  }
  return count;
}

TEST(WanTensors, Published1_3B_EqualsTheGoldenList) {
  const auto lines = our_lines("wan_1_3b", StoredDType::kF32);
  EXPECT_EQ(lines, golden_lines("wan2.1_t2v_1.3b.tsv"));
  EXPECT_EQ(lines.size(), 825U);
  EXPECT_EQ(parameter_count("wan_1_3b"), 1'418'996'800U);
}

TEST(WanTensors, Published14B_EqualsTheGoldenList) {
  const auto lines = our_lines("wan_14b", StoredDType::kF32);
  EXPECT_EQ(lines, golden_lines("wan2.1_t2v_14b.tsv"));
  EXPECT_EQ(lines.size(), 1095U);
  EXPECT_EQ(parameter_count("wan_14b"), 14'288'491'584U);
}

TEST(WanTensors, Published14BMixed_EqualsTheGoldenList) {
  EXPECT_EQ(our_lines("wan_14b", StoredDType::kMixed),
            golden_lines("wan2.1_t2v_14b_mixed_bf16.tsv"));
}

TEST(WanTensors, Scales_FollowTheKindOfTensor) {
  const auto shape = wan_preset("wan_cpu")->shape;
  const float by_hidden = 1.0F / 16.0F;  // 1/sqrt(256)
  for (const auto& tensor : wan_tensors(shape)) {
    const std::string_view name = tensor.name;
    const bool norm = name.ends_with("norm_q.weight") || name.ends_with("norm_k.weight") ||
                      name.ends_with("norm2.weight");
    EXPECT_EQ(tensor.mean, norm ? 1.0F : 0.0F) << name;
    EXPECT_GT(tensor.scale, 0.0F) << name;
    if (name.ends_with("to_out.0.weight")) {
      EXPECT_FLOAT_EQ(tensor.scale, 0.5F * by_hidden);
    } else if (name.ends_with("ffn.net.2.weight")) {
      EXPECT_FLOAT_EQ(tensor.scale, 0.5F / 32.0F);  // fan-in 1024
    } else if (name.ends_with("to_q.weight") || name.ends_with("scale_shift_table")) {
      EXPECT_FLOAT_EQ(tensor.scale, by_hidden);
    } else if (name == "patch_embedding.weight") {
      EXPECT_FLOAT_EQ(tensor.scale, 1.0F / 8.0F);  // 16 channels x 4
    } else if (name.ends_with(".bias") || norm) {
      EXPECT_LE(tensor.scale, 0.05F) << name;
    }
  }
}

TEST(StoredDType, Names_AreReadAndOthersRefused) {
  for (const auto stored : {StoredDType::kF32, StoredDType::kBF16, StoredDType::kMixed}) {
    EXPECT_EQ(*parse_stored_dtype(stored_dtype_name(stored)), stored);
  }
  const auto refused = parse_stored_dtype("bf16");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.refusal().code, codes::kInvalidValue);
}

}  // namespace
}  // namespace dlo::host_weights
